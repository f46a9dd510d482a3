import { readFileSync } from 'node:fs'
import type { ChannelAdapter } from '@herald/channels'
import type { Context } from '@herald/program'
import { readSettings } from '@herald/settings'
import { createRegistry } from '@herald/telemetry'
import { describe, expect, it, jest } from '@jest/globals'
import { heapNeedMb } from '../src/heap-need.ts'
import { channelWorker } from '../src/run-channel-worker.ts'

const root = new URL('../../../', import.meta.url)

/** Starts and stops a worker, and returns what it warned of. */
async function warningsWith(transports: number): Promise<string[]> {
  const warn = jest.fn((_fields: object, _message: string) => {})
  const context = {
    settings: { ...readSettings({}).settings, workerTransports: transports },
    log: { child: () => ({ warn, info: () => {}, error: () => {} }) },
    registry: createRegistry('spec'),
    queues: { work: () => ({ inFlight: () => 0, drain: async () => {} }) },
    die: () => {},
  } as unknown as Context
  const running = await channelWorker({ name: 'apns' } as ChannelAdapter).start(context)
  await running.stop()
  return warn.mock.calls.map(([, message]) => message)
}

describe('the heap that connections of many certificates need', () => {
  it('fits the limit of the start scripts with the default number', () => {
    const { start } = JSON.parse(readFileSync(new URL('apps/worker-apns/package.json', root), 'utf8')).scripts
    const limit = Number(/--max-old-space-size=(\d+)/.exec(start)![1])
    expect(heapNeedMb(readSettings({}).settings.workerTransports)).toBeLessThanOrEqual(limit)
  })

  it('grows with their number, to what Node takes of 1 GB with ten thousand', () => {
    expect([0, 2_000, 10_000].map(heapNeedMb)).toEqual([96, 155, 389])
  })

  it('is compared with the limit of the process when a worker starts', async () => {
    expect(await warningsWith(1)).toEqual([])
    // More than any process may have.
    expect(await warningsWith(1e9)).toEqual([
      expect.stringMatching(/HERALD_WORKER_TRANSPORTS=1000000000 .*--max-old-space-size/),
    ])
  })
})
