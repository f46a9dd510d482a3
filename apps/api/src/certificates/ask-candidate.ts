import type { Certificate, ChannelAdapter, MintedSession, TransportDeps } from '@herald/channels'
import { isSimulated } from '@herald/channels/simulated'
import { askVendor } from '@herald/program'
import type { z } from 'zod'
import type { checkAnswer } from './check-answer.ts'

export type Candidate = {
  answer: z.input<typeof checkAnswer>
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
  const [result, simulator] = await Promise.all([
    askVendor(adapter, settings, own),
    isSimulated(certificate, deps),
  ])
  return {
    answer: result.ok
      ? {
          ok: true,
          problem: null,
          code: null,
          temporary: false,
          simulator,
          warnings: [...(result.warnings ?? [])],
        }
      : {
          ok: false,
          problem: result.problem,
          code: result.code ?? null,
          temporary: result.temporary,
          simulator,
          warnings: [],
        },
    async keepSessions(saved) {
      for (const [key, session] of minted) await saved.session(key, async () => session)
    },
  }
}
