import { type Demo, digits, hex, serviceClass } from '../demo.ts'
import { startOppoSimulator } from './simulator.ts'

export const demo: Demo<{ appId: string; appKey: string; masterSecret: string; clientSecret: string }> = {
  makeCredentials: async () => ({
    appId: digits(8),
    appKey: hex(16),
    masterSecret: hex(16),
    clientSecret: hex(16),
  }),
  certificate: ({ appId, appKey, masterSecret, clientSecret }) => ({
    appId,
    appKey,
    appSecret: masterSecret,
    certificate: '',
    extra: { ...serviceClass, client_app_secret: clientSecret },
  }),
  devices: [{ guid: 'demo-oppo', platform: 'android' }],
  token: (hash) => `OPPO_CN_${hash.toString('hex').slice(0, 32)}`,
  async start({ appId, appKey, masterSecret }, mode) {
    const simulator = await startOppoSimulator({ ...mode, apps: [{ appId, appKey, masterSecret }] })
    return { simulators: [simulator], urls: { oppo: simulator.url, oppoIntl: simulator.url } }
  },
}
