import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLogger } from '@herald/telemetry'
import { until } from '@herald/testkit'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { keepPostgres, type OwnPostgres } from '../src/own-postgres.ts'

let dataDir: string
let postgres: OwnPostgres | undefined
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'herald-own-postgres-'))
})
afterEach(async () => {
  await postgres?.stop()
  rmSync(dataDir, { recursive: true })
})

const inCluster = (name: string) => join(dataDir, 'postgres', 'data', name)
const postmaster = () => Number.parseInt(readFileSync(inCluster('postmaster.pid'), 'utf8'), 10)

it('stops while the server recovers from a crash, however long that takes', async () => {
  const log = createLogger({ name: 'spec', level: 'silent' })
  postgres = await keepPostgres(dataDir, log, () => {}, new AbortController().signal)
  // A recovery that never ends: it waits for this command to fetch the next file.
  appendFileSync(inCluster('postgresql.conf'), `\nrestore_command = 'touch waiting && sleep 100000'\n`)
  writeFileSync(inCluster('recovery.signal'), '')
  process.kill(postmaster(), 'SIGKILL')
  await until(() => existsSync(inCluster('waiting')))
  await postgres.stop()
  expect(postgres.isUp()).toBe(false)
  expect(existsSync(inCluster('postmaster.pid'))).toBe(false)
})
