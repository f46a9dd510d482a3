import type { ChannelAdapter } from '@herald/channels'
import { cardOf, type VendorChannel } from '@herald/domain'
import { outcomeOf, type Step } from './script.ts'

type Payload = { taskId: number }

/**
 * Replaces a vendor channel in drills and load tests. It sends to a stub server, whose responses are written in the tokens,
 * and accepts every certificate, unless its `extra.check` is `refused` or `temporary`, or `ask` and the server
 * refuses it.
 */
export function stubChannel(
  name: VendorChannel,
  options: { url: string; tokensPerCall?: number; onePerDevice?: boolean; absoluteBadge?: boolean },
): ChannelAdapter<Record<string, unknown>, Payload> {
  return {
    name,
    tokensPerCall: options.tokensPerCall ?? 500,
    onePerDevice: options.onePerDevice ?? false,
    absoluteBadge: options.absoluteBadge,
    readSettings: (certificate) => certificate.extra,
    limits: (settings) => ({ timeZone: 'UTC', ...((settings.limits as object) ?? {}) }),
    defaultClass: () => 'marketing',
    mapPayload: ({ taskId, message }) =>
      message.title === `not on ${name}` ? { unsupported: 'the title forbids it' } : { taskId },
    withdrawal: cardOf(name).recall === 'withdraw' ? ({ taskId }) => ({ taskId }) : undefined,
    checkToken: () => undefined,
    open: (settings) => ({
      async send(payload, recipients, { signal, report }) {
        const response = await fetch(`${options.url}/send/${name}`, {
          method: 'POST',
          body: JSON.stringify({
            task: payload.taskId,
            tokens: recipients.map(({ token }) => token),
            badges: recipients.map(({ badge }) => badge ?? null),
          }),
          signal,
        })
        const steps = (await response.json()) as Step[]
        steps.forEach((step, index) => {
          report(index, outcomeOf(step, Date.now()))
        })
      },
      async check() {
        const { check = 'accepted' } = settings
        const result = check === 'ask' ? await (await fetch(`${options.url}/check/${name}`)).json() : check
        if (result === 'accepted') return { ok: true }
        return { ok: false, problem: 'the stub refuses', temporary: result === 'temporary' }
      },
      close: async () => {},
    }),
  }
}
