type Channel = {
  channel: string
  state: 'working' | 'failing' | 'refused' | 'unused'
  sent_10m: number
  certificates: readonly {
    state: 'open' | 'closed' | 'suspect'
    breaker: unknown
    failing: boolean
    held: readonly string[]
  }[]
}

export type Trouble = 'none' | 'part' | 'all'

/** `all`: nothing is sent through the channel; `part`: something is the matter with one of its certificates. */
export function troubleOf({ state, certificates }: Channel): Trouble {
  if (state === 'failing' || state === 'refused') return 'all'
  const isTroubled = certificates.some(
    (one) => one.state !== 'open' || one.breaker !== null || one.failing || one.held.length > 0,
  )
  return isTroubled ? 'part' : 'none'
}

const rank: Record<Trouble, number> = { all: 0, part: 1, none: 2 }

/** Channels with problems first, then those that send most. */
export function byTrouble<One extends Channel>(channels: readonly One[]): One[] {
  return [...channels].sort(
    (a, b) =>
      rank[troubleOf(a)] - rank[troubleOf(b)] || b.sent_10m - a.sent_10m || (a.channel < b.channel ? -1 : 1),
  )
}
