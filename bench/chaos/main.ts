import { parseArgs } from 'node:util'
import { runDrill } from './drill.ts'
import { isGood, summaryOf, writeReport } from './report.ts'
import { type FaultKind, faultKinds, type QueueKind, queueKinds } from './schedule.ts'

const usage = `usage: npm run chaos -- [--seconds 60] [--seed 1] [--queue ${queueKinds.join('|')}] [--every 4] [--rate 2500] [--devices 16000] [--timeout 6] [--fairness 20] [--only <fault>,…] [--small] [--report]`

/** Returns the integer value of an option, or exits with an error. */
function whole(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  return fail(`--${name} must be a whole number, not ${JSON.stringify(text)}`)
}

function fail(sentence: string): never {
  process.stderr.write(`${sentence}\n${usage}\n`)
  process.exit(1)
}

function readArgs() {
  try {
    return parseArgs({
      options: {
        seconds: { type: 'string', default: '60' },
        seed: { type: 'string', default: '1' },
        queue: { type: 'string', default: 'redis' },
        every: { type: 'string', default: '4' },
        rate: { type: 'string', default: '2500' },
        devices: { type: 'string', default: '16000' },
        timeout: { type: 'string', default: '6' },
        fairness: { type: 'string', default: '20' },
        only: { type: 'string' },
        small: { type: 'boolean', default: false },
        report: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    return fail((error as Error).message)
  }
}

function readKinds(text: string | undefined): FaultKind[] | undefined {
  const kinds = text?.split(',') as FaultKind[] | undefined
  const unknown = kinds?.find((kind) => !faultKinds.includes(kind))
  return unknown === undefined ? kinds : fail(`--only: ${unknown} is none of ${faultKinds.join(', ')}`)
}

const values = readArgs()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
if (!queueKinds.includes(values.queue as QueueKind)) fail(`--queue must be ${queueKinds.join(', ')}`)
const report = await runDrill({
  seconds: whole('seconds', values.seconds),
  seed: whole('seed', values.seed),
  queue: values.queue as QueueKind,
  every: Math.max(1, whole('every', values.every)),
  rate: whole('rate', values.rate),
  devices: whole('devices', values.devices),
  sendTimeout: Math.max(1, whole('timeout', values.timeout)),
  fairness: whole('fairness', values.fairness),
  only: readKinds(values.only),
  size: values.small ? 'small' : 'full',
  log: (sentence) => console.log(sentence),
})
for (const sentence of [...report.lost, ...report.unbalanced, ...report.broken].slice(0, 20))
  console.log(sentence)
if (values.report) console.log(`\n${writeReport(report)}`)
console.log(JSON.stringify(summaryOf(report)))
process.exit(isGood(report) ? 0 : 1)
