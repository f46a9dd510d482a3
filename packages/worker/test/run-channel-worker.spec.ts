import type { ChannelAdapter } from '@herald/channels'
import type { Context } from '@herald/program'
import { readSettings } from '@herald/settings'
import { createLogger, createRegistry } from '@herald/telemetry'
import { expect, it, jest } from '@jest/globals'
import { channelWorker } from '../src/run-channel-worker.ts'

it('a worker that its watchdog reports as dead ends the process', async () => {
  const die = jest.fn()
  const work = jest.fn((_queue: string, _options: { onDead(reason: string): void }) => ({
    inFlight: () => 0,
    drain: async () => {},
  }))
  const context = {
    settings: readSettings({}).settings,
    log: createLogger({ name: 'spec', level: 'silent' }),
    registry: createRegistry('spec'),
    queues: { work },
    die,
  } as unknown as Context
  const running = await channelWorker({ name: 'apns' } as ChannelAdapter).start(context)
  work.mock.calls[0]![1].onDead('it took nothing')
  expect(die).toHaveBeenCalledWith('it took nothing')
  await running.stop()
})
