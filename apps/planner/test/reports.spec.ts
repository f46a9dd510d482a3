import { isTransient } from '@herald/db/store'
import { createLogger, createRegistry } from '@herald/telemetry'
import { expect, it } from '@jest/globals'
import { createReports } from '../src/reports.ts'

const errorOf = (code: string) => Object.assign(new Error('as Postgres reported it'), { code })

const logged = {
  postgres: { level: 'warn', msg: 'Postgres is not available' },
  statement: { level: 'warn', msg: 'a statement of a round failed; the round is repeated' },
  error: { level: 'error', msg: 'a round failed' },
}

it.each<[what: string, error: Error, cause: keyof typeof logged]>([
  ['a server that shuts down', errorOf('57P01'), 'postgres'],
  ['a server that starts', errorOf('57P03'), 'postgres'],
  ['a server that is read-only', errorOf('25006'), 'postgres'],
  ['a full disk', errorOf('53100'), 'postgres'],
  ['a refused connection', errorOf('ECONNREFUSED'), 'postgres'],
  ['a lock that is not granted', errorOf('55P03'), 'statement'],
  ['a time limit', errorOf('57014'), 'statement'],
  ['no room for locks', errorOf('53200'), 'statement'],
  ['a deadlock', errorOf('40P01'), 'statement'],
  ['a pool without a free connection', new Error('timeout exceeded when trying to connect'), 'statement'],
  ['an error of ours', new TypeError('not a function'), 'error'],
])('a round that fails because of %s is counted and logged', async (_, error, cause) => {
  const lines: string[] = []
  const registry = createRegistry('spec')
  const log = createLogger({ name: 'spec', destination: { write: (line) => void lines.push(line) } })
  createReports({ registry, log }).onLoopError(error, isTransient(error), 'feed')
  const { values } = await registry.getSingleMetric('herald_rounds_failed_total')!.get()
  expect(values.map(({ labels, value }) => [labels.cause, value])).toEqual([[cause, 1]])
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ ...logged[cause], loop: 'feed' }])
})
