import type { Certificate, ChannelAdapter, MintedSession, TransportDeps } from '@herald/channels'
import { askForAnswer, type CheckAnswer } from './check-answer.ts'

export type Candidate = {
  answer: CheckAnswer
  /** Stores the access tokens that the vendor issued for the check: vendors limit how many are issued. */
  keepSessions(deps: TransportDeps): Promise<void>
}

/** Asks the vendor about credentials that are not saved yet. Nothing about the saved ones changes. */
export async function askCandidate(
  adapter: ChannelAdapter,
  settings: unknown,
  certificate: Pick<Certificate, 'channel' | 'environment'> & { region?: string },
  deps: TransportDeps,
): Promise<Candidate> {
  const minted = new Map<string, MintedSession>()
  const own: TransportDeps = {
    ...deps,
    async session(key, mint, stale, scope) {
      if (scope === 'shared') return deps.session(key, mint, stale, scope)
      const known = minted.get(key)
      if (known && known.value !== stale) return known.value
      const made = await mint()
      minted.set(key, made)
      return made.value
    },
    holds: { isEmpty: () => true, find: () => undefined, add() {} },
  }
  return {
    answer: await askForAnswer(adapter, settings, certificate, own),
    async keepSessions(saved) {
      for (const [key, session] of minted) await saved.session(key, async () => session)
    },
  }
}
