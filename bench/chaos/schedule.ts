import { type VendorChannel, vendorChannels } from '@herald/domain'
import { between, pick, type Random, randomFrom, shuffle } from './random.ts'

export const queueKinds = ['redis', 'postgres', 'sentinel', 'cluster'] as const
export type QueueKind = (typeof queueKinds)[number]

/** One process of the drill; a worker sends to the vendors of its `channels`. */
export type DrillProcess = {
  name: string
  role: 'api' | 'planner' | 'worker' | 'gateway' | 'courier'
  channels: VendorChannel[]
}

/** The values of `--only`. */
export const faultKinds: readonly FaultKind[] = [
  ...(['kill', 'terminate', 'freeze', 'freeze-past-lease', 'clock-jump', 'cut-host'] as const),
  ...(['queue-crash', 'queue-flush', 'queue-freeze'] as const),
  ...(['postgres-crash', 'table-lock', 'slow-disk', 'read-only', 'disk-full'] as const),
  ...(['storm', 'vendor-refuses', 'vendor-hangs', 'flood', 'cut-clients'] as const),
]

export type Storm = 'throttle' | 'unavailable' | 'hang' | 'cut' | 'latency' | 'goaway' | 'expired-auth'

type Kind =
  | { kind: 'kill' | 'terminate'; victim: string }
  | { kind: 'freeze' | 'freeze-past-lease' | 'clock-jump'; victim: string; seconds: number }
  | { kind: 'queue-crash' | 'queue-freeze'; node: number; seconds: number }
  | { kind: 'queue-flush'; node: number }
  | { kind: 'postgres-crash'; signal: 'SIGKILL' | 'SIGQUIT' }
  | { kind: 'table-lock'; table: string; seconds: number }
  | { kind: 'slow-disk' | 'read-only' | 'disk-full' | 'flood'; seconds: number }
  | { kind: 'cut-host'; victim: string; seconds: number }
  | { kind: 'vendor-refuses' | 'vendor-hangs'; channel: VendorChannel; seconds: number }
  | { kind: 'storm'; storm: Storm; channels: VendorChannel[]; share: number; seconds: number }
  | { kind: 'cut-clients' }
export type Fault = { at: number } & Kind
export type FaultKind = Kind['kind']

/** Seconds: a lease lasts 30, and the planner needs time to give the batches to another worker. */
const PAST_LEASE = 34
const hotTables = ['counter', 'batch', 'task', 'binding', 'inbox', 'receipt']

/** Seconds: longer than the leases, and than the keepalives after which Postgres ends a silent session. */
const MAX_CUT = 90
const MAX_REFUSAL = 60
const MAX_HANG = 30
const READ_ONLY = 5

type Choice = {
  random: Random
  /** Duration of the load; a long fault takes at most a third of it. */
  seconds: number
  processes: readonly DrillProcess[]
  channels: readonly VendorChannel[]
}
/** Draws the details of a fault. */
type Draw = (choice: Choice) => Kind

const victim = ({ random, processes }: Choice) => pick(random, processes).name
const worker = ({ random, processes }: Choice) =>
  pick(
    random,
    processes.filter(({ role }) => role === 'worker'),
  ).name
const number = ({ random }: Choice, min: number, max: number) => between(random, min, max)
const longest = ({ seconds }: Choice, max: number) => Math.max(2, Math.min(max, Math.floor(seconds / 3)))

const kill: Draw = (choice) => ({ kind: 'kill', victim: victim(choice) })
const terminate: Draw = (choice) => ({ kind: 'terminate', victim: victim(choice) })
const freeze: Draw = (choice) => ({ kind: 'freeze', victim: victim(choice), seconds: number(choice, 1, 4) })
const freezePastLease: Draw = (choice) => ({
  kind: 'freeze-past-lease',
  victim: worker(choice),
  seconds: PAST_LEASE,
})
const clockJump: Draw = (choice) => ({
  kind: 'clock-jump',
  victim: victim(choice),
  seconds: number(choice, 3, 8),
})
const queueFault =
  (kind: 'queue-crash' | 'queue-freeze'): Draw =>
  (choice) => ({ kind, node: number(choice, 0, 99), seconds: number(choice, 1, 5) })
const queueFlush: Draw = (choice) => ({ kind: 'queue-flush', node: number(choice, 0, 99) })
const postgresCrash: Draw = ({ random }) => ({
  kind: 'postgres-crash',
  signal: pick(random, ['SIGKILL', 'SIGQUIT'] as const),
})
const tableLock: Draw = (choice) => ({
  kind: 'table-lock',
  table: pick(choice.random, hotTables),
  seconds: number(choice, 1, 4),
})
const slowDisk: Draw = (choice) => ({ kind: 'slow-disk', seconds: number(choice, 2, 5) })
const readOnly: Draw = (choice) => ({ kind: 'read-only', seconds: longest(choice, READ_ONLY) })
const diskFull: Draw = (choice) => ({ kind: 'disk-full', seconds: number(choice, 2, 6) })
const flood: Draw = (choice) => ({ kind: 'flood', seconds: number(choice, 2, 5) })
const cutHost: Draw = (choice) => ({
  kind: 'cut-host',
  victim: victim(choice),
  seconds: number(choice, 2, longest(choice, MAX_CUT)),
})
const vendorFault =
  (kind: 'vendor-refuses' | 'vendor-hangs', max: number): Draw =>
  (choice) => ({ kind, channel: pick(choice.random, choice.channels), seconds: longest(choice, max) })
const cutClients: Draw = () => ({ kind: 'cut-clients' })

const storm =
  (name: Storm, share: (random: Random) => number, only?: readonly VendorChannel[]): Draw =>
  (choice) => ({
    kind: 'storm',
    storm: name,
    channels: shuffle(
      choice.random,
      choice.channels.filter((channel) => only === undefined || only.includes(channel)),
    ).slice(0, between(choice.random, 1, 3)),
    share: share(choice.random),
    seconds: number(choice, 2, 8),
  })

const largeShare = (random: Random) => 0.5 + random() / 2
const smallShare = (random: Random) => 0.1 + random() / 4

const onEveryQueue: readonly Draw[] = [
  ...Array<Draw>(6).fill(kill),
  ...[terminate, freeze, freeze, freezePastLease, clockJump],
  ...[postgresCrash, tableLock, tableLock, slowDisk, cutClients],
  ...[cutHost, cutHost, readOnly, diskFull, flood],
  ...[vendorFault('vendor-refuses', MAX_REFUSAL), vendorFault('vendor-hangs', MAX_HANG)],
  storm('throttle', largeShare),
  storm('unavailable', largeShare),
  storm('hang', smallShare),
  storm('cut', smallShare),
  storm('latency', (random) => 0.2 + random()),
  storm('goaway', () => 50, ['apns', 'fcm']),
  // Not at APNs, which accepts a new token only once in twenty minutes.
  storm(
    'expired-auth',
    () => 1,
    vendorChannels.filter((channel) => channel !== 'apns'),
  ),
]

const onRedis = [queueFault('queue-crash'), queueFault('queue-crash'), queueFlush, queueFault('queue-freeze')]

/**
 * Returns the faults of a run, which depend on the arguments only. Kinds are drawn in shuffled rounds, so that a long run has
 * all of them in the same proportion; a run too short for `freeze-past-lease` leaves it out. `only` selects kinds.
 */
export function scheduleFaults(options: {
  seed: number
  seconds: number
  every: number
  queue: QueueKind
  processes: readonly DrillProcess[]
  channels: readonly VendorChannel[]
  only?: readonly FaultKind[]
  /** False if the disk of Postgres cannot be filled on this machine. */
  canFillDisk: boolean
}): Fault[] {
  const { seed, seconds, every, queue, processes, channels, only, canFillDisk } = options
  const random = randomFrom(seed)
  const choice = { random, seconds, processes, channels }
  // Another generator, because a kind is only known after drawing.
  const kindOf = (draw: Draw) => draw({ ...choice, random: randomFrom(seed) }).kind
  // A queue in Postgres fails together with Postgres.
  const all = [...onEveryQueue, ...(queue === 'postgres' ? [postgresCrash] : onRedis)]
    .filter((draw) => draw !== freezePastLease || seconds >= 2 * PAST_LEASE)
    .filter((draw) => draw !== diskFull || canFillDisk)
    .filter((draw) => only === undefined || only.includes(kindOf(draw)))
  const faults: Fault[] = []
  let round: Draw[] = []
  for (let at = Math.min(2, every); at < seconds && all.length > 0; at += every) {
    if (round.length === 0) round = shuffle(random, all)
    faults.push({ ...round.pop()!(choice), at })
  }
  return faults
}

/**
 * Returns faults of the couriers, which are made in addition, so that every drill has some. A kill first: the courier has requests in
 * flight.
 */
export function scheduleCourierFaults(options: {
  seed: number
  seconds: number
  every: number
  couriers: readonly DrillProcess[]
  only?: readonly FaultKind[]
}): Fault[] {
  const { seed, seconds, every, couriers, only } = options
  const choice = { random: randomFrom(seed), seconds, processes: couriers, channels: [] }
  const draws = [kill, kill, freeze, cutHost, clockJump, terminate].filter(
    (draw) => only === undefined || only.includes(draw({ ...choice, random: randomFrom(seed) }).kind),
  )
  if (draws.length === 0) return []
  const count = Math.max(2, Math.floor(seconds / (5 * every)))
  return Array.from({ length: count }, (_, i) => ({
    ...draws[i % draws.length]!(choice),
    at: (seconds * (i + 0.8)) / count,
  }))
}

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
    case 'slow-disk':
      return `the disk of Postgres is slow for ${fault.seconds} s`
    case 'read-only':
      return `Postgres is read-only for ${fault.seconds} s`
    case 'disk-full':
      return `the disk of Postgres is full for ${fault.seconds} s`
    case 'flood':
      return `another application floods for ${fault.seconds} s`
    case 'cut-host':
      return `no packets between ${fault.victim} and the servers for ${fault.seconds} s`
    case 'vendor-refuses':
      return `${fault.channel} refuses all credentials for ${fault.seconds} s`
    case 'vendor-hangs':
      return `${fault.channel} does not answer for ${fault.seconds} s`
    case 'cut-clients':
      return 'every connection of callers and devices is cut'
    case 'storm':
      return `${fault.storm} at ${fault.channels.join(', ')} for ${fault.seconds} s`
  }
}
