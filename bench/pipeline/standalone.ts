import type { Metrics } from '../metric.ts'
import { CONNECTIONS, notifyEach } from './accept.ts'
import { startStandalone } from './standalone-program.ts'

const DEVICES = 10_000

/** Single pushes through the standalone. */
export async function measureStandalone(requests: number): Promise<Metrics> {
  const standalone = await startStandalone()
  try {
    const headers = await standalone.addApplication('bench', DEVICES)
    const caller = { headers: () => headers, pushToken: (n: number) => `bench${1 + (n % DEVICES)}` }
    // A warm-up, because connections, prepared statements and the JIT are warm in a real deployment.
    await notifyEach(standalone, caller, Math.ceil(requests / 5), standalone.sink)
    const found = await notifyEach(standalone, caller, requests, standalone.sink)
    return {
      standalone_end_to_end_per_s: {
        value: found.delivered,
        unit: 'requests/s',
        note: `${requests.toLocaleString('en')} requests with a request id, ${CONNECTIONS} connections, one device each, one process with its own Postgres, queue in Postgres, default log level, until the vendor's response is committed; ${found.cost}`,
      },
      standalone_cpu_us_each: { value: found.cpu, unit: 'µs', note: 'the standalone and its Postgres' },
    }
  } finally {
    await standalone.stop()
  }
}
