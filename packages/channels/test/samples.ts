import type { Message, VendorChannel } from '@herald/domain'
import type { Certificate, MintedSession, Task, TransportDeps, UrlName, VendorUrls } from '../src/channel.ts'

/** A plain text message in normal form; override what a case is about. */
export function sampleMessage(over: Partial<Message> = {}): Message {
  return {
    type: 'text',
    title: 'Order shipped',
    body: 'Parcel 123 is on its way',
    badge: { kind: 'add', count: 1 },
    ios: {},
    android: {},
    huawei: {},
    honor: {},
    xiaomi: {},
    oppo: {},
    vivo: {},
    flyme: {},
    fcm: {},
    ...over,
  }
}

export const sampleNow = 1_760_000_000

export function sampleTask(message: Partial<Message> = {}, over: Partial<Omit<Task, 'message'>> = {}): Task {
  return {
    taskId: 4503599627370497,
    messageClass: 'service',
    ttl: 3600,
    applicationName: 'Parcel Post',
    now: sampleNow,
    ...over,
    message: sampleMessage(message),
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

/** A port that nothing listens on, so that forgetting a URL shows as a refused connection. */
const nowhere = 'http://127.0.0.1:9'

const urlNames: UrlName[] = [
  'apns',
  'apnsSandbox',
  'fcm',
  'fcmToken',
  'huawei',
  'huaweiAuth',
  'honor',
  'honorAuth',
  'xiaomi',
  'oppo',
  'vivo',
  'meizu',
]

export function sampleUrls(over: Partial<VendorUrls> = {}): VendorUrls {
  return { ...(Object.fromEntries(urlNames.map((name) => [name, nowhere])) as VendorUrls), ...over }
}

/** Transport deps for one certificate, with sessions and task memory held in memory; `mints` counts the vendor passes. */
export function sampleDeps(over: Partial<TransportDeps> = {}): TransportDeps & { mints: () => number } {
  const sessions = new Map<string, MintedSession>()
  const minting = new Map<string, Promise<string>>()
  const memory = new Map<string, Promise<string>>()
  let mints = 0
  const deps: TransportDeps = {
    urls: sampleUrls(),
    now: Date.now,
    timeoutMs: 5000,
    async session(key, mint, stale) {
      const kept = sessions.get(key)
      if (kept && kept.value !== stale && deps.now() < kept.renewAt) return kept.value
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
