import { createPublicKey, randomBytes } from 'node:crypto'
import { type Demo, digits, hex, makeRsaKey, packageName, serviceClass } from '../demo.ts'
import { startHuaweiSimulator } from './simulator.ts'

export const demo: Demo<{
  clientId: string
  clientSecret: string
  projectId: string
  account: { keyId: string; subAccount: string; key: string }
  callbackUser: string
  callbackKey: string
}> = {
  makeCredentials: async () => ({
    clientId: digits(9),
    clientSecret: hex(32),
    projectId: digits(18),
    account: { keyId: hex(16), subAccount: digits(9), key: await makeRsaKey() },
    callbackUser: 'herald-demo',
    callbackKey: randomBytes(32).toString('base64'),
  }),
  certificate: ({ clientId, clientSecret, projectId, account, callbackUser, callbackKey }) => ({
    appId: clientId,
    appKey: projectId,
    appSecret: clientSecret,
    certificate: JSON.stringify({
      project_id: projectId,
      key_id: account.keyId,
      private_key: account.key,
      sub_account: account.subAccount,
    }),
    extra: {
      ...serviceClass,
      classes: { service: { category: 'WORK' } },
      badge_class: `${packageName}.MainActivity`,
      callback_user: callbackUser,
      callback_secret: callbackKey,
    },
  }),
  devices: [
    { guid: 'demo-huawei', platform: 'android', alias: 'bob', tags: ['vip'] },
    { guid: 'demo-harmony', platform: 'harmony' },
    { guid: 'demo-several', platform: 'android', alias: 'bob' },
  ],
  token: (hash, platform) => `${platform === 'harmony' ? 'MAMzLg' : 'IQAAAA'}${hash.toString('base64url')}`,
  async start({ clientId, clientSecret, projectId, account, callbackUser, callbackKey }, mode) {
    const { keyId, subAccount, key } = account
    const publicKey = createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString()
    const simulator = await startHuaweiSimulator({
      ...mode,
      credentials: [{ clientId, clientSecret, projectId, serviceAccount: { keyId, subAccount, publicKey } }],
    })
    return {
      simulators: [simulator],
      urls: {
        huawei: simulator.url,
        huaweiAuth: simulator.url,
        huaweiIntl: simulator.url,
        huaweiIntlAuth: simulator.url,
      },
      registerReceipts: (url) =>
        simulator.registerReceipts({ clientId, url, user: callbackUser, key: callbackKey }),
    }
  },
}
