import { type VendorChannel, vendorChannels } from '@herald/domain'
import { between, pick, type Random, randomFrom, shuffle } from './random.ts'

export const queueKinds = ['redis', 'postgres', 'sentinel', 'cluster'] as const
export type QueueKind = (typeof queueKinds)[number]

/** One process of the drill; `channels` are those whose vendors it sends to. */
export type Role = { name: string; part: 'api' | 'planner' | 'worker' | 'gateway'; channels: VendorChannel[] }

export type Storm = 'throttle' | 'unavailable' | 'hang' | 'cut' | 'latency' | 'goaway' | 'expired-auth'

export type Fault = { at: number } & (
  | { kind: 'kill' | 'terminate'; victim: string }
  | { kind: 'freeze' | 'freeze-past-lease'; victim: string; seconds: number }
  | { kind: 'clock-jump'; victim: string; seconds: number }
  | { kind: 'queue-crash'; node: number; seconds: number }
  | { kind: 'queue-flush'; node: number }
  | { kind: 'queue-freeze'; node: number; seconds: number }
  | { kind: 'postgres-crash'; signal: 'SIGKILL' | 'SIGQUIT' }
  | { kind: 'table-lock'; table: string; seconds: number }
  | { kind: 'slow-commits'; seconds: number }
  | { kind: 'storm'; storm: Storm; channels: VendorChannel[]; share: number; seconds: number }
  | { kind: 'cut-clients' }
)

/** Seconds: a lease of 30, and time for the planner to give the batches to somebody else. */
const PAST_LEASE = 34
const hotTables = ['counter', 'batch', 'task', 'binding', 'inbox', 'receipt']

type Hand = { random: Random; roles: readonly Role[]; channels: readonly VendorChannel[] }
type Card = (hand: Hand) => Fault

const victim = ({ random, roles }: Hand) => pick(random, roles).name
const worker = ({ random, roles }: Hand) =>
  pick(
    random,
    roles.filter(({ part }) => part === 'worker'),
  ).name
const seconds = ({ random }: Hand, least: number, most: number) => between(random, least, most)

const kill: Card = (hand) => ({ at: 0, kind: 'kill', victim: victim(hand) })
const terminate: Card = (hand) => ({ at: 0, kind: 'terminate', victim: victim(hand) })
const freeze: Card = (hand) => ({ at: 0, kind: 'freeze', victim: victim(hand), seconds: seconds(hand, 1, 4) })
const freezePastLease: Card = (hand) => ({
  at: 0,
  kind: 'freeze-past-lease',
  victim: worker(hand),
  seconds: PAST_LEASE,
})
const jump: Card = (hand) => ({
  at: 0,
  kind: 'clock-jump',
  victim: victim(hand),
  seconds: seconds(hand, 3, 8),
})
const queueCrash: Card = (hand) => ({
  at: 0,
  kind: 'queue-crash',
  node: seconds(hand, 0, 99),
  seconds: seconds(hand, 1, 5),
})
const queueFlush: Card = (hand) => ({ at: 0, kind: 'queue-flush', node: seconds(hand, 0, 99) })
const queueFreeze: Card = (hand) => ({
  at: 0,
  kind: 'queue-freeze',
  node: seconds(hand, 0, 99),
  seconds: seconds(hand, 1, 5),
})
const postgresCrash: Card = ({ random }) => ({
  at: 0,
  kind: 'postgres-crash',
  signal: pick(random, ['SIGKILL', 'SIGQUIT'] as const),
})
const tableLock: Card = (hand) => ({
  at: 0,
  kind: 'table-lock',
  table: pick(hand.random, hotTables),
  seconds: seconds(hand, 1, 4),
})
const slowCommits: Card = (hand) => ({ at: 0, kind: 'slow-commits', seconds: seconds(hand, 2, 5) })
const cutClients: Card = () => ({ at: 0, kind: 'cut-clients' })

const storm =
  (name: Storm, share: (random: Random) => number, only?: readonly VendorChannel[]): Card =>
  (hand) => ({
    at: 0,
    kind: 'storm',
    storm: name,
    channels: shuffle(
      hand.random,
      hand.channels.filter((channel) => only === undefined || only.includes(channel)),
    ).slice(0, between(hand.random, 1, 3)),
    share: share(hand.random),
    seconds: seconds(hand, 2, 8),
  })

const most = (random: Random) => 0.5 + random() / 2
const some = (random: Random) => 0.1 + random() / 4

const everywhere: readonly Card[] = [
  kill,
  kill,
  kill,
  kill,
  kill,
  kill,
  terminate,
  freeze,
  freeze,
  freezePastLease,
  jump,
  postgresCrash,
  tableLock,
  tableLock,
  slowCommits,
  cutClients,
  storm('throttle', most),
  storm('unavailable', most),
  storm('hang', some),
  storm('cut', some),
  storm('latency', (random) => 0.2 + random()),
  storm('goaway', () => 50, ['apns', 'fcm']),
  // Not at APNs, which lets a token be replaced early once in twenty minutes: a second time is a clock that is wrong.
  storm(
    'expired-auth',
    () => 1,
    vendorChannels.filter((channel) => channel !== 'apns'),
  ),
]

const byQueue: Record<QueueKind, readonly Card[]> = {
  redis: [queueCrash, queueCrash, queueFlush, queueFreeze],
  sentinel: [queueCrash, queueCrash, queueFlush, queueFreeze],
  cluster: [queueCrash, queueCrash, queueFlush, queueFreeze],
  // The queue lives where the rows live: it goes down with them.
  postgres: [postgresCrash],
}

/**
 * The faults of a run, a pure function of its arguments. Cards are dealt in shuffled rounds, so that a long run has every kind
 * in the same proportion; a run too short for a freeze past the lease leaves that one out.
 */
export function scheduleFaults(options: {
  seed: number
  seconds: number
  every: number
  queue: QueueKind
  roles: readonly Role[]
  channels: readonly VendorChannel[]
}): Fault[] {
  const random = randomFrom(options.seed)
  const hand = { random, roles: options.roles, channels: options.channels }
  const deck = [...everywhere, ...byQueue[options.queue]].filter(
    (card) => card !== freezePastLease || options.seconds >= 2 * PAST_LEASE,
  )
  const faults: Fault[] = []
  let round: Card[] = []
  for (let at = Math.min(2, options.every); at < options.seconds; at += options.every) {
    if (round.length === 0) round = shuffle(random, deck)
    faults.push({ ...round.pop()!(hand), at })
  }
  return faults
}

/** The fault in words. */
export function describeFault(fault: Fault): string {
  switch (fault.kind) {
    case 'kill':
      return `kill -9 of ${fault.victim}`
    case 'terminate':
      return `SIGTERM to ${fault.victim}`
    case 'freeze':
      return `SIGSTOP of ${fault.victim} for ${fault.seconds} s`
    case 'freeze-past-lease':
      return `SIGSTOP of ${fault.victim} for ${fault.seconds} s, longer than its leases`
    case 'clock-jump':
      return `the clock of ${fault.victim} jumps for ${fault.seconds} s`
    case 'queue-crash':
      return `a queue server is lost for ${fault.seconds} s`
    case 'queue-flush':
      return 'FLUSHALL'
    case 'queue-freeze':
      return `SIGSTOP of a queue server for ${fault.seconds} s`
    case 'postgres-crash':
      return `${fault.signal} to Postgres`
    case 'table-lock':
      return `${fault.table} locked for ${fault.seconds} s`
    case 'slow-commits':
      return `every commit takes a tenth of a second longer for ${fault.seconds} s`
    case 'cut-clients':
      return 'every connection of callers and devices is cut'
    case 'storm':
      return `${fault.storm} at ${fault.channels.join(', ')} for ${fault.seconds} s`
  }
}
