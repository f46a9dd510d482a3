import type { Outcome } from '@herald/domain'
import { type HonorSimulatorOptions, startHonorSimulator } from '@herald/simulators/honor'
import { afterEach, describe, expect, it } from '@jest/globals'
import { isUnsupported } from '../../src/channel.ts'
import { adapter as honor } from '../../src/honor/channel.ts'
import { sampleCertificate, sampleDeps, sampleTask, sampleUrls } from '../samples.ts'

const app = { appId: '104436234', clientId: 'c-1', clientSecret: 's-1' }
const toClose: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(toClose.splice(0).map((close) => close()))
})

async function start(options: HonorSimulatorOptions = {}) {
  const sends: { path: string; headers: Readonly<Record<string, string>>; body: string }[] = []
  const simulator = await startHonorSimulator({
    credentials: [app],
    onSend: (send) => sends.push(send),
    ...options,
  })
  const settings = honor.readSettings(
    sampleCertificate('honor', { appId: app.appId, appKey: app.clientId, appSecret: app.clientSecret }),
  )
  const urls = sampleUrls({ honor: `${simulator.url}/`, honorAuth: simulator.url })
  const deps = sampleDeps({ urls, now: () => 1_760_000_000_123 })
  const transport = honor.open(settings, deps)
  toClose.push(transport.close, simulator.close)
  const send = async (tokens: string[]) => {
    const payload = honor.mapPayload(sampleTask({}, { taskId: 7001 }), settings)
    if (isUnsupported(payload)) throw new Error(payload.unsupported)
    const outcomes: (Outcome | undefined)[] = tokens.map(() => undefined)
    await transport.send(
      payload,
      tokens.map((token, deviceId) => ({ deviceId, token })),
      {
        signal: new AbortController().signal,
        report(index, outcome) {
          expect(outcomes[index]).toBeUndefined()
          outcomes[index] = outcome
        },
      },
    )
    return outcomes.map((outcome) => outcome?.kind)
  }
  return { sends, deps, send }
}

describe('honor transport', () => {
  it('lists a token once, however many recipients share it', async () => {
    const { sends, send } = await start()
    const kinds = await send(['a', 'FAIL1', 'EXPIRED1', 'a', 'EXPIRED1'])
    expect(kinds).toEqual(['accepted', 'rejected', 'gone', 'accepted', 'gone'])
    expect(JSON.parse(sends[0]!.body).token).toEqual(['a', 'FAIL1', 'EXPIRED1'])
  })

  it('sends to the app’s path with the time in milliseconds', async () => {
    const { sends, send } = await start()
    await send(['a'])
    expect(sends[0]).toMatchObject({
      path: '/api/v1/104436234/sendMessage',
      headers: { timestamp: '1760000000123', 'content-type': 'application/json; charset=UTF-8' },
    })
  })

  it('requests one access token for many concurrent sends', async () => {
    const { sends, deps, send } = await start()
    await Promise.all(Array.from({ length: 8 }, () => send(['a'])))
    expect(deps.mints()).toBe(1)
    expect(sends).toHaveLength(8)
  })
})
