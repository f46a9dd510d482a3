import type { Strategy } from '@herald/domain'
import { aliasOf, type Population } from './population.ts'
import { between, pick, type Random, shuffle } from './random.ts'

/** What happens to a task after it was accepted. */
export type Turn = 'none' | 'pause' | 'cancel'

/** One notify of the load, with the devices it is for. */
export type Order = {
  requestId: string
  audience: unknown
  devices: readonly number[]
  strategy: Strategy
  ttl: number | undefined
  speed: number | undefined
  turn: Turn
  /** Identical requests at the same moment. */
  copies: number
}

type Shape = Omit<Order, 'requestId' | 'copies'>

const TTL_SECONDS = 4
const strategyOf = (random: Random): Strategy => pick(random, ['combined', 'ospush_only'])

/** A broadcast to some of the large tags, in one of its ways. */
function broadcast(random: Random, population: Population): Shape {
  const names = shuffle(random, [...population.broadcastTags.keys()]).slice(0, between(random, 2, 5))
  const devices = names.flatMap((name) => population.broadcastTags.get(name)!)
  const shape: Shape = {
    audience: { tag: names },
    devices,
    strategy: strategyOf(random),
    ttl: undefined,
    speed: undefined,
    turn: 'none',
  }
  const way = random()
  if (way < 0.5) return shape
  if (way < 0.58) return { ...shape, audience: 'all', devices: population.numbers, strategy: 'ospush_only' }
  if (way < 0.7) return { ...shape, turn: 'pause' }
  // The native channel would send first what is then cancelled or late: the books of these are kept with the vendors alone.
  if (way < 0.78) return { ...shape, strategy: 'ospush_only', turn: 'cancel' }
  if (way < 0.86) return { ...shape, strategy: 'ospush_only', ttl: TTL_SECONDS }
  if (way < 0.9) return { ...shape, speed: 1000 }
  const [tag, flock] = population.flockTag
  return { ...shape, audience: { tag: [tag] }, devices: flock, strategy: 'nativepush_only' }
}

function targeted(random: Random, population: Population): Shape {
  const shape = { ttl: undefined, speed: undefined, turn: 'none' as const }
  const way = random()
  if (way < 0.55) {
    const some = Array.from({ length: between(random, 1, 5) }, () => pick(random, population.numbers))
    return {
      ...shape,
      audience: { alias: some.map(aliasOf) },
      devices: [...new Set(some)],
      strategy: 'ospush_only',
    }
  }
  if (way < 0.7) {
    const [owner, devices] = pick(random, [...population.owners])
    return { ...shape, audience: { user_id: [Number(owner)] }, devices, strategy: strategyOf(random) }
  }
  if (way < 0.85) {
    const [tag, devices] = pick(random, [...population.smallTags])
    return { ...shape, audience: { tag: [tag] }, devices, strategy: strategyOf(random) }
  }
  const n = pick(random, population.flockTag[1])
  return {
    ...shape,
    audience: { push_token: [population.pushTokens[n]] },
    devices: [n],
    strategy: pick(random, ['combined', 'nativepush_only']),
  }
}

/** The `n`th notify of the load: the same seed gives the same orders, whenever they are placed. */
export function nextOrder(random: Random, population: Population, n: number): Order {
  const shape = random() < 0.08 ? broadcast(random, population) : targeted(random, population)
  return { ...shape, requestId: `chaos ${n}`, copies: random() < 0.2 ? 3 : 1 }
}

export function bodyOf({ requestId, audience, strategy, ttl, speed }: Order): object {
  return {
    audience,
    setting: { request_id: requestId, distribution_strategy: strategy, ttl, speed },
    message: { title: 'Chaos', body: requestId, ext: { n: requestId } },
  }
}
