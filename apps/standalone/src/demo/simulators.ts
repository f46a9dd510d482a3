import { createPublicKey } from 'node:crypto'
import {
  type Simulator,
  startApnsSimulator,
  startFcmSimulator,
  startHonorSimulator,
  startHuaweiSimulator,
  startMeizuSimulator,
  startOppoSimulator,
  startVivoSimulator,
  startXiaomiSimulator,
} from '@herald/channels'
import { publicName, type VendorChannel, vendorChannels } from '@herald/domain'
import type { Settings, VendorUrls } from '@herald/settings'
import { fcmEmail, packageName } from './certificates.ts'
import type { DemoCredentials } from './credentials.ts'

export type Simulation = {
  /** Vendors that are simulated; the others are called for real. */
  channels: readonly VendorChannel[]
  /** The given settings, pointed at the simulators. */
  settings: Settings
  /** Base address by public channel name. */
  urls: Record<string, string>
  /** Enters the address for receipts in the vendor's console, where the vendor has one. */
  registerReceipts(channel: VendorChannel, url: string): void
  close(): Promise<void>
}

type Simulated = {
  /** The first is the one that is shown; the others stand for further hosts of the vendor. */
  simulators: readonly [Simulator, ...Simulator[]]
  urls: Partial<VendorUrls>
  registerReceipts?(url: string): void
}

type Vendor = {
  /** Settings that name a host of this vendor: one given address makes the whole vendor real. */
  hosts: readonly (keyof VendorUrls)[]
  start(credentials: DemoCredentials): Promise<Simulated>
}

/**
 * The simulators hold every rule of their vendors but the caps per device and rate, which a person who tries one push after the
 * other on one demo device would run into.
 */
const vendors: Record<VendorChannel, Vendor> = {
  apns: {
    hosts: ['apns', 'apnsSandbox'],
    async start({ apns }) {
      const keys = [{ ...apns, topics: [packageName] }]
      const [production, sandbox] = await Promise.all([
        startApnsSimulator({ keys }),
        startApnsSimulator({ keys, environment: 'development' }),
      ])
      return {
        simulators: [production, sandbox],
        urls: { apns: production.url, apnsSandbox: sandbox.url },
      }
    },
  },
  fcm: {
    hosts: ['fcm', 'fcmToken'],
    async start({ fcm }) {
      const account = { clientEmail: fcmEmail(fcm), key: fcm.key, projects: [fcm.projectId] }
      const simulator = await startFcmSimulator({ accounts: [account], devicePerMinute: Infinity })
      return { simulators: [simulator], urls: { fcm: simulator.url, fcmToken: simulator.url } }
    },
  },
  huawei: {
    hosts: ['huawei', 'huaweiAuth'],
    async start({ huawei: { clientId, clientSecret, projectId, account, callbackUser, callbackKey } }) {
      const { keyId, subAccount, key } = account
      const publicKey = createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString()
      const serviceAccount = { keyId, subAccount, publicKey }
      const simulator = await startHuaweiSimulator({
        credentials: [{ clientId, clientSecret, projectId, serviceAccount }],
      })
      return {
        simulators: [simulator],
        urls: { huawei: simulator.url, huaweiAuth: simulator.url },
        registerReceipts: (url) =>
          simulator.registerReceipts({ clientId, url, user: callbackUser, key: callbackKey }),
      }
    },
  },
  honor: {
    hosts: ['honor', 'honorAuth'],
    async start({ honor }) {
      const simulator = await startHonorSimulator({ credentials: [honor] })
      return {
        simulators: [simulator],
        urls: { honor: simulator.url, honorAuth: simulator.url },
        registerReceipts: (url) => simulator.registerReceipts({ appId: honor.appId, url }),
      }
    },
  },
  xiaomi: {
    hosts: ['xiaomi'],
    async start({ xiaomi: { appSecret } }) {
      const simulator = await startXiaomiSimulator({ apps: [{ appSecret, packageName }] })
      return { simulators: [simulator], urls: { xiaomi: simulator.url } }
    },
  },
  oppo: {
    hosts: ['oppo', 'oppoIntl'],
    async start({ oppo }) {
      const simulator = await startOppoSimulator({ apps: [oppo] })
      return { simulators: [simulator], urls: { oppo: simulator.url, oppoIntl: simulator.url } }
    },
  },
  vivo: {
    hosts: ['vivo'],
    async start({ vivo }) {
      const simulator = await startVivoSimulator({ credentials: [vivo], messagesPerSecond: Infinity })
      return {
        simulators: [simulator],
        urls: { vivo: simulator.url },
        registerReceipts: (url) => simulator.registerReceipts({ callbackId: vivo.callbackId, url }),
      }
    },
  },
  meizu: {
    hosts: ['meizu', 'meizuIntl'],
    async start({ meizu: { appId, appSecret, receiptToken } }) {
      const simulator = await startMeizuSimulator({
        credentials: [{ appId, appSecret }],
        foldPerMinute: Infinity,
      })
      return {
        simulators: [simulator],
        urls: { meizu: simulator.url, meizuIntl: simulator.url },
        registerReceipts: (url) => simulator.registerReceipts({ appId, url, accessToken: receiptToken }),
      }
    },
  },
}

/** Vendors without a given address, or none when simulators are off. Pure. */
export function simulatedChannels({ simulators, givenVendorUrls }: Settings): VendorChannel[] {
  if (!simulators) return []
  return vendorChannels.filter(
    (channel) => !vendors[channel].hosts.some((host) => givenVendorUrls.includes(host)),
  )
}

/** One simulator a vendor on a free port of this machine. Their ledgers begin empty at every start. */
export async function startSimulators(given: Settings, credentials: DemoCredentials): Promise<Simulation> {
  const channels = simulatedChannels(given)
  const started = new Map(
    await Promise.all(
      channels.map(async (channel) => [channel, await vendors[channel].start(credentials)] as const),
    ),
  )
  const all = [...started.values()]
  const authorities = all.flatMap(({ simulators }) => simulators.flatMap(({ ca }) => ca ?? []))
  return {
    channels,
    settings: {
      ...given,
      vendorUrls: Object.assign({ ...given.vendorUrls }, ...all.map(({ urls }) => urls)),
      vendorCa: [given.vendorCa, ...authorities].filter(Boolean).join('\n') || undefined,
      // A proxy elsewhere could not find this machine's loopback; beside real vendors it is still needed.
      proxy: channels.length === vendorChannels.length ? undefined : given.proxy,
    },
    urls: Object.fromEntries(
      [...started].map(([channel, { simulators }]) => [publicName(channel), simulators[0].url]),
    ),
    registerReceipts: (channel, url) => started.get(channel)?.registerReceipts?.(url),
    async close() {
      await Promise.all(all.flatMap(({ simulators }) => simulators.map((simulator) => simulator.close())))
    },
  }
}
