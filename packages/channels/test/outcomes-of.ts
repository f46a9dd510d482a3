import type { Outcome } from '@herald/domain'
import { expect } from '@jest/globals'
import type { Transport } from '../src/channel.ts'

/** Sends to one device for each token and returns the outcomes; none may be reported twice. */
export async function outcomesOf<Payload>(
  transport: Transport<Payload>,
  payload: Payload,
  tokens: readonly string[],
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const recipients = tokens.map((token, i) => ({ deviceId: i + 1, token }))
  await transport.send(payload, recipients, {
    signal: new AbortController().signal,
    report(index, outcome) {
      expect(outcomes[index]).toBeUndefined()
      outcomes[index] = outcome
    },
  })
  return outcomes
}
