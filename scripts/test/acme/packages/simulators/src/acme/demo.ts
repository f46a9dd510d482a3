import { type Demo, digits, secret, serviceClass } from '../demo.ts'
import { type AcmeApp, startAcmeSimulator } from './simulator.ts'

export const demo: Demo<AcmeApp> = {
  makeCredentials: async () => ({ appId: digits(6), key: secret() }),
  certificate: ({ appId, key }) => ({
    appId,
    appKey: '',
    appSecret: key,
    certificate: '',
    extra: serviceClass,
  }),
  devices: [{ guid: 'demo-acme', platform: 'android' }],
  token: (hash) => `ACME${hash.toString('hex')}`,
  async start(credentials) {
    const simulator = await startAcmeSimulator(credentials)
    return { simulators: [simulator], urls: { acme: simulator.url } }
  },
}
