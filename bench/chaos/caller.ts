import { retryWithBackoff } from '@herald/async'
import { Agent, fetch } from 'undici'

type Envelope = { code: number; data: Record<string, unknown>; message: string | null }

export type Caller = {
  /** Calls the APIs in turn until one of them responds; logs in first if necessary. */
  call(path: string, body: object): Promise<Record<string, unknown>>
  /** Number of responses other than success, by code. */
  refusals: ReadonlyMap<number, number>
  /** Milliseconds from the first attempt of a call to its response. */
  latencies: readonly number[]
  close(): Promise<void>
}

/** The API refused a request permanently: an error of the drill or of Herald, never the effect of a fault. */
class Refused extends Error {}

const ENDED = 40902
const MAX_LATENCIES = 100_000

/** A caller of two APIs that retries with the same request id until it gets a response. */
export function openCaller(
  bases: readonly string[],
  appId: string,
  appSecret: string,
  connections = 64,
): Caller {
  const agent = new Agent({ connections })
  const refusals = new Map<number, number>()
  const latencies: number[] = []
  let token: Promise<string> | undefined
  let turn = 0

  function send(path: string, body: object, accessToken?: string): Promise<Record<string, unknown>> {
    const began = performance.now()
    const attempt = async () => {
      const response = await fetch(bases[turn++ % bases.length]! + path, {
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
      const envelope = (await response.json()) as Envelope
      // A task may have ended before it is paused.
      if (envelope.code === ENDED) return {}
      if (envelope.code === 200) {
        if (latencies.length < MAX_LATENCIES) latencies.push(performance.now() - began)
        return envelope.data
      }
      refusals.set(envelope.code, (refusals.get(envelope.code) ?? 0) + 1)
      const sentence = `${path} returned ${JSON.stringify(envelope)}`
      throw envelope.code < 50000 ? new Refused(sentence) : new Error(sentence)
    }
    const isTransient = (error: unknown) => !(error instanceof Refused)
    return retryWithBackoff(attempt, { isTransient, firstMs: 100, maxMs: 100 })
  }

  return {
    refusals,
    latencies,
    async call(path, body) {
      token ??= send('/token/admin', { app_secret: appSecret }).then((record) => String(record.token))
      return send(path, body, await token)
    },
    close: () => agent.destroy(),
  }
}
