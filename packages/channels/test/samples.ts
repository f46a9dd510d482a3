import type { Message, VendorChannel } from '@herald/domain'
import { sampleMessage } from '@herald/testkit/sample-message'
import { type Address, cards } from '../src/cards.ts'
import type {
  Certificate,
  HeldOutcome,
  MintedSession,
  Task,
  TransportDeps,
  VendorUrls,
} from '../src/channel.ts'

export const sampleNow = 1_760_000_000

export function sampleTask(message: Partial<Message> = {}, over: Partial<Omit<Task, 'message'>> = {}): Task {
  return {
    taskId: 4503599627370497,
    messageClass: 'service',
    ttl: 3600,
    applicationName: 'Parcel Post',
    now: sampleNow,
    ...over,
    message: sampleMessage({ title: 'Order shipped', body: 'Parcel 123 is on its way', ...message }),
  }
}

export function sampleCertificate(channel: VendorChannel, over: Partial<Certificate> = {}): Certificate {
  return {
    id: 1,
    application: 'demo',
    channel,
    environment: 'production',
    name: channel,
    appId: '',
    appKey: '',
    appSecret: '',
    certificate: '',
    extra: {},
    ...over,
  }
}

/** A port without a listener, so that a missing URL leads to a refused connection. */
const nowhere = 'http://127.0.0.1:9'

const urlNames = cards.flatMap(({ addresses }) =>
  Object.entries<Address>(addresses).flatMap(([name, { region }]) => (region ? [] : [name])),
)

export function sampleUrls(over: Partial<VendorUrls> = {}): VendorUrls {
  return { ...(Object.fromEntries(urlNames.map((name) => [name, nowhere])) as VendorUrls), ...over }
}

/** Transport deps for one certificate, with sessions and task memory in this process; `mints` counts the access tokens. */
export function sampleDeps(over: Partial<TransportDeps> = {}): TransportDeps & { mints: () => number } {
  const sessions = new Map<string, MintedSession>()
  const minting = new Map<string, Promise<string>>()
  const memory = new Map<string, Promise<string>>()
  const holds = new Map<string, { outcome: HeldOutcome; until: number }>()
  let mints = 0
  const deps: TransportDeps = {
    urls: sampleUrls(),
    now: Date.now,
    timeoutMs: 60_000,
    async session(key, mint, stale) {
      const stored = sessions.get(key)
      if (stored && stored.value !== stale && deps.now() < stored.renewAt) return stored.value
      const running = minting.get(key)
      if (running) return running
      const minted = (async () => {
        try {
          mints++
          const session = await mint()
          sessions.set(key, session)
          return session.value
        } finally {
          minting.delete(key)
        }
      })()
      minting.set(key, minted)
      return minted
    },
    holds: {
      isEmpty: () => holds.size === 0,
      find(scope) {
        const held = holds.get(scope)
        return held && deps.now() < held.until ? held.outcome : undefined
      },
      add: (scope, outcome, until) => holds.set(scope, { outcome, until }),
    },
    taskMemory(taskId, key, make) {
      const name = `${taskId} ${key}`
      let value = memory.get(name)
      if (!value) {
        value = make()
        memory.set(name, value)
        value.catch(() => memory.delete(name))
      }
      return value
    },
    ...over,
  }
  return Object.assign(deps, { mints: () => mints })
}
