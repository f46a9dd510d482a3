import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, fetch } from 'undici'

type Envelope = { code: number; data: Record<string, unknown>; message: string | null }

export type Caller = {
  /** Logs in first when it has to; asks the APIs in turn until one of them answers. */
  call(path: string, body: object): Promise<Record<string, unknown>>
  /** Answers other than success, by code. */
  refusals: ReadonlyMap<number, number>
  /** Milliseconds that a call took from its first try, of the latest calls. */
  latencies: readonly number[]
  close(): Promise<void>
}

/** The interface refused what the drill asked for: a mistake of the drill or of Herald, never of a fault. */
export class Refused extends Error {}

const ENDED = 40902
const KEPT_LATENCIES = 100_000

/** A client of two APIs, as a careful caller would be: again with the same request id until it is answered. */
export function openCaller(bases: readonly string[], appId: string, appSecret: string): Caller {
  const agent = new Agent({ connections: 64 })
  const refusals = new Map<number, number>()
  const latencies: number[] = []
  let token: Promise<string> | undefined
  let turn = 0

  async function ask(path: string, body: object, accessToken?: string): Promise<Record<string, unknown>> {
    const began = performance.now()
    for (;;) {
      try {
        const answer = await fetch(bases[turn++ % bases.length]! + path, {
          dispatcher: agent,
          method: 'POST',
          headers: {
            app_id: appId,
            'content-type': 'application/json',
            ...(accessToken && { 'access-token': accessToken }),
          },
          body: JSON.stringify(body),
          signal: AbortSignal.timeout(20_000),
        })
        const envelope = (await answer.json()) as Envelope
        // A task that has ended meanwhile cannot be paused; nothing is wrong with that.
        if (envelope.code === ENDED) return {}
        if (envelope.code === 200) {
          if (latencies.length < KEPT_LATENCIES) latencies.push(performance.now() - began)
          return envelope.data
        }
        refusals.set(envelope.code, (refusals.get(envelope.code) ?? 0) + 1)
        if (envelope.code < 50000) throw new Refused(`${path} answered ${JSON.stringify(envelope)}`)
      } catch (error) {
        if (error instanceof Refused) throw error
      }
      await sleep(100)
    }
  }

  return {
    refusals,
    latencies,
    async call(path, body) {
      token ??= ask('/token/admin', { app_secret: appSecret }).then((record) => String(record.token))
      return ask(path, body, await token)
    },
    close: () => agent.destroy(),
  }
}
