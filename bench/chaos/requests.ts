import type { Strategy } from '@herald/domain'
import { aliasOf, type Population } from './population.ts'
import { between, pick, type Random, shuffle } from './random.ts'

/** One notify request of the load, with the devices that it is for. */
export type NotifyRequest = {
  requestId: string
  audience: unknown
  devices: readonly number[]
  strategy: Strategy
  ttl?: number
  speed?: number
  /** Of tasks with events. */
  campaign?: string
  /** What happens to the task after it was accepted. */
  followUp?: 'pause' | 'cancel'
  /** It begins later, together with others. */
  isReminder?: boolean
  /** Number of identical requests sent at the same time. */
  copies: number
}

type Shape = Omit<NotifyRequest, 'requestId' | 'copies' | 'campaign'>

/** The campaign that the webhook of the drill names. */
export const DRILL_CAMPAIGN = 'chaos'

const TTL_SECONDS = 4
const strategyOf = (random: Random): Strategy => pick(random, ['combined', 'ospush_only'])

/** A broadcast to some of the large tags, to all devices or to all native ones. */
function broadcast(random: Random, population: Population): Shape {
  const names = shuffle(random, [...population.broadcastTags.keys()]).slice(0, between(random, 2, 5))
  const devices = names.flatMap((name) => population.broadcastTags.get(name)!)
  const shape: Shape = { audience: { tag: names }, devices, strategy: strategyOf(random) }
  const variant = random()
  if (variant < 0.5) return shape
  if (variant < 0.58)
    return { ...shape, audience: 'all', devices: population.numbers, strategy: 'ospush_only' }
  if (variant < 0.7) return { ...shape, followUp: 'pause' }
  // Only through vendors: the native channel would send before the task is cancelled or expires.
  if (variant < 0.78) return { ...shape, strategy: 'ospush_only', followUp: 'cancel' }
  if (variant < 0.86) return { ...shape, strategy: 'ospush_only', ttl: TTL_SECONDS }
  if (variant < 0.9) return { ...shape, speed: 1000 }
  const [tag, native] = population.nativeTag
  return { audience: { tag: [tag] }, devices: native, strategy: 'nativepush_only' }
}

function targeted(random: Random, population: Population): Shape {
  const variant = random()
  if (variant < 0.2) {
    const n = pick(random, population.reminded)
    return { audience: { alias: [aliasOf(n)] }, devices: [n], strategy: 'ospush_only', isReminder: true }
  }
  if (variant < 0.55) {
    const some = Array.from({ length: between(random, 1, 5) }, () => pick(random, population.numbers))
    return { audience: { alias: some.map(aliasOf) }, devices: [...new Set(some)], strategy: 'ospush_only' }
  }
  if (variant < 0.7) {
    const [owner, devices] = pick(random, [...population.owners])
    return { audience: { user_id: [Number(owner)] }, devices, strategy: strategyOf(random) }
  }
  if (variant < 0.85) {
    const [tag, devices] = pick(random, [...population.smallTags])
    return { audience: { tag: [tag] }, devices, strategy: strategyOf(random) }
  }
  const n = pick(random, population.nativeTag[1])
  return {
    audience: { push_token: [population.pushTokens[n]] },
    devices: [n],
    strategy: pick(random, ['combined', 'nativepush_only']),
  }
}

/** Returns the `n`th request of the load: the same seed gives the same requests, whatever their timing. */
export function nextRequest(random: Random, population: Population, n: number): NotifyRequest {
  const shape = random() < 0.08 ? broadcast(random, population) : targeted(random, population)
  // Reminders and half of the other pushes to one device have no events: those with events are not bundled.
  const isBundled = shape.devices.length === 1 && (shape.isReminder || n % 2 === 1)
  const campaign = isBundled ? undefined : DRILL_CAMPAIGN
  return { ...shape, requestId: `chaos ${n}`, copies: random() < 0.2 ? 3 : 1, campaign }
}

/** The next multiple of five seconds that is at least two seconds away, so that many reminders begin at once. */
const nextBegin = () => Math.ceil((Date.now() / 1000 + 2) / 5) * 5

export function bodyOf(request: NotifyRequest): object {
  const { requestId, audience, strategy, ttl, speed, campaign, isReminder } = request
  return {
    audience,
    setting: { request_id: requestId, distribution_strategy: strategy, ttl, speed, campaign },
    message: {
      title: 'Chaos',
      body: requestId,
      ext: { n: requestId },
      show_begin_time: isReminder ? nextBegin() : undefined,
    },
  }
}
