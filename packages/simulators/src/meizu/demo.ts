import { type Demo, digits, hex, secret, serviceClass } from '../demo.ts'
import { startMeizuSimulator } from './simulator.ts'

export const demo: Demo<{ appId: string; appKey: string; appSecret: string; receiptToken: string }> = {
  makeCredentials: async () => ({
    appId: digits(6),
    appKey: hex(16),
    appSecret: hex(16),
    receiptToken: secret(),
  }),
  certificate: ({ appId, appKey, appSecret, receiptToken }) => ({
    appId,
    appKey,
    appSecret,
    certificate: '',
    extra: {
      ...serviceClass,
      receipt_registered: true,
      receipt_token: receiptToken,
      // The vendor's default of 200 per second would slow down a large audience for no reason here.
      limits: { devices_per_s: 5000 },
    },
  }),
  devices: [{ guid: 'demo-meizu', platform: 'android' }],
  token: (hash) => `M${hash.toString('hex').slice(0, 31)}`,
  async start({ appId, appSecret, receiptToken }, mode) {
    const simulator = await startMeizuSimulator({
      ...mode,
      credentials: [{ appId, appSecret }],
      foldPerMinute: Infinity,
    })
    return {
      simulators: [simulator],
      urls: { meizu: simulator.url, meizuIntl: simulator.url },
      registerReceipts: (url) => simulator.registerReceipts({ appId, url, accessToken: receiptToken }),
    }
  },
}
