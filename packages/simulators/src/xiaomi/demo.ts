import { type Demo, digits, packageName, secret, serviceClass } from '../demo.ts'
import { startXiaomiSimulator } from './simulator.ts'

export const demo: Demo<{ appId: string; appKey: string; appSecret: string }> = {
  makeCredentials: async () => ({ appId: digits(19), appKey: digits(13), appSecret: secret() }),
  certificate: (credentials) => ({
    ...credentials,
    certificate: '',
    extra: { ...serviceClass, package_name: packageName, big_text: true },
  }),
  devices: [
    { guid: 'demo-xiaomi', platform: 'android' },
    { guid: 'demo-several', platform: 'android', alias: 'bob' },
  ],
  token: (hash) => Buffer.concat([hash, hash.subarray(0, 16)]).toString('base64'),
  async start({ appSecret }, mode) {
    const simulator = await startXiaomiSimulator({ ...mode, apps: [{ appSecret, packageName }] })
    return { simulators: [simulator], urls: { xiaomi: simulator.url } }
  },
}
