import type { Outcome } from '@herald/domain'
import type { Recipient, SendContext } from '../channel.ts'

export type ReportToken = (token: string, outcome: Outcome) => void

/**
 * For vendors whose requests list tokens: returns each token once, and a function that reports an outcome for all recipients with a
 * token. `indexes` are those of the recipients to send to (default: all).
 */
export function distinctTokens(
  recipients: readonly Pick<Recipient, 'token'>[],
  report: SendContext['report'],
  indexes: Iterable<number> = recipients.keys(),
): { tokens: readonly string[]; reportToken: ReportToken } {
  const byToken = Map.groupBy(indexes, (index) => recipients[index]!.token)
  return {
    tokens: [...byToken.keys()],
    reportToken(token, outcome) {
      for (const index of byToken.get(token)!) report(index, outcome)
    },
  }
}
