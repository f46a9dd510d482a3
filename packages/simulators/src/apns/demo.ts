import { capitals, type Demo, makeEcKey, packageName, serviceClass } from '../demo.ts'
import { startApnsSimulator } from './simulator.ts'

export const demo: Demo<{ keyId: string; teamId: string; key: string }> = {
  makeCredentials: async () => ({ keyId: capitals(10), teamId: capitals(10), key: await makeEcKey() }),
  certificate: ({ keyId, teamId, key }) => ({
    appId: packageName,
    appKey: keyId,
    appSecret: teamId,
    certificate: key,
    extra: serviceClass,
  }),
  devices: [
    { guid: 'demo-iphone', platform: 'ios', owned: true, alias: 'alice', tags: ['vip'] },
    { guid: 'demo-ipad', platform: 'ios' },
  ],
  token: (hash) => hash.toString('hex'),
  async start(credentials, mode) {
    const keys = [{ ...credentials, topics: [packageName] }]
    const [production, sandbox] = await Promise.all([
      startApnsSimulator({ ...mode, keys }),
      startApnsSimulator({ ...mode, keys, environment: 'development' }),
    ])
    return { simulators: [production, sandbox], urls: { apns: production.url, apnsSandbox: sandbox.url } }
  },
}
