import { type Demo, digits, hex, serviceClass } from '../demo.ts'
import { startVivoSimulator } from './simulator.ts'

export const demo: Demo<{ appId: string; appKey: string; appSecret: string; callbackId: string }> = {
  makeCredentials: async () => ({
    appId: digits(9),
    appKey: hex(16),
    appSecret: hex(16),
    callbackId: digits(5),
  }),
  certificate: ({ appId, appKey, appSecret, callbackId }) => ({
    appId,
    appKey,
    appSecret,
    certificate: '',
    extra: { ...serviceClass, callback_id: callbackId },
  }),
  // Two, because vivo has different calls for one device and for several.
  devices: [
    { guid: 'demo-vivo-1', platform: 'android' },
    { guid: 'demo-vivo-2', platform: 'android' },
  ],
  token: (hash) =>
    BigInt(`0x${hash.toString('hex')}`)
      .toString()
      .slice(0, 23),
  async start({ callbackId, ...credentials }, mode) {
    const simulator = await startVivoSimulator({
      ...mode,
      credentials: [credentials],
      messagesPerSecond: Infinity,
    })
    return {
      simulators: [simulator],
      urls: { vivo: simulator.url },
      registerReceipts: (url) => simulator.registerReceipts({ callbackId, url }),
    }
  },
}
