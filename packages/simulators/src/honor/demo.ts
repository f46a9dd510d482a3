import { type Demo, digits, hex, packageName, secret, serviceClass } from '../demo.ts'
import { startHonorSimulator } from './simulator.ts'

export const demo: Demo<{ appId: string; clientId: string; clientSecret: string }> = {
  makeCredentials: async () => ({ appId: digits(9), clientId: hex(16), clientSecret: secret() }),
  certificate: ({ appId, clientId, clientSecret }) => ({
    appId,
    appKey: clientId,
    appSecret: clientSecret,
    certificate: '',
    extra: { ...serviceClass, badge_class: `${packageName}.MainActivity` },
  }),
  devices: [{ guid: 'demo-honor', platform: 'android' }],
  token: (hash) => `B${hash.toString('base64url')}`,
  async start(credentials, mode) {
    const simulator = await startHonorSimulator({ ...mode, credentials: [credentials] })
    return {
      simulators: [simulator],
      urls: { honor: simulator.url, honorAuth: simulator.url },
      registerReceipts: (url) => simulator.registerReceipts({ appId: credentials.appId, url }),
    }
  },
}
