import { parseArgs } from 'node:util'
import { runDrill } from './drill.ts'

/** `node bench/chaos/main.ts --queue redis --devices 20000 --seeds 1,2,3`: one line a run, exit code 1 when a promise broke. */
const { values } = parseArgs({
  options: {
    queue: { type: 'string', default: 'redis' },
    devices: { type: 'string', default: '20000' },
    targeted: { type: 'string', default: '40' },
    every: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '14' },
    seeds: { type: 'string', default: '1' },
    'long-freeze': { type: 'boolean', default: false },
  },
})
if (values.queue !== 'redis' && values.queue !== 'postgres') throw new Error('--queue is redis or postgres')

for (const seed of values.seeds.split(',').map(Number)) {
  const began = Date.now()
  const faults: string[] = []
  const report = await runDrill({
    queue: values.queue,
    devices: Number(values.devices),
    targeted: Number(values.targeted),
    every: Number(values.every),
    seconds: Number(values.seconds),
    longFreeze: values['long-freeze'],
    seed,
    log: (sentence) => faults.push(sentence),
  })
  const line = { queue: values.queue, seed, seconds: Math.round((Date.now() - began) / 1000), ...report }
  process.stdout.write(`${JSON.stringify(line)}\n`)
  if (report.broken.length > 0) {
    process.stdout.write(`  faults: ${faults.join('; ')}\n`)
    process.exitCode = 1
  }
}
