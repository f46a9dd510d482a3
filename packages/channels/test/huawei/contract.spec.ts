import { startHuaweiSimulator } from '@herald/simulators/huawei'
import { adapter as huawei } from '../../src/huawei/channel.ts'
import { describeContract } from '../contract.ts'
import { sampleCertificate } from '../samples.ts'
import { makeServiceAccount } from './service-account.ts'

const clientId = '100200300'
const account = makeServiceAccount('388421841222000001')
const credentials = [
  {
    clientId,
    clientSecret: 's3cr3t-of-the-app',
    projectId: account.projectId,
    serviceAccount: account.known,
  },
]
const token = (index: number) => `IQAAAACy0${String(index).padStart(121, 'x')}`
const callbackKey = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')
const oversize = { ext: JSON.stringify({ blob: 'x'.repeat(5000) }) }

async function bench(
  certificate: { appKey?: string; appSecret?: string; certificate?: string },
  bad: object,
  receipts: { version?: 1 | 2; rawKey?: boolean } = {},
) {
  const simulator = await startHuaweiSimulator({ credentials })
  const good = sampleCertificate('huawei', {
    appId: clientId,
    extra: { callback_user: 'pushuser', callback_secret: callbackKey },
    ...certificate,
  })
  return {
    simulator,
    certificate: good,
    bad: { ...good, ...bad },
    urls: { huawei: simulator.url, huaweiAuth: simulator.url },
    kill: simulator.kill,
    registerReceipts: (url: string) =>
      simulator.registerReceipts({ clientId, url, user: 'pushuser', key: callbackKey, ...receipts }),
  }
}

const wrongSecret = { appSecret: 'not-the-secret' }

describeContract('huawei v1', {
  adapter: huawei,
  start: () => bench({ appSecret: 's3cr3t-of-the-app' }, wrongSecret),
  token,
  expiringAuth: true,
  oversize,
})

describeContract('huawei v2', {
  adapter: huawei,
  start: () =>
    bench({ appSecret: 's3cr3t-of-the-app', appKey: account.projectId }, wrongSecret, { version: 2 }),
  token,
  expiringAuth: true,
  oversize,
})

const withAccount = () =>
  bench(
    { certificate: account.json },
    { certificate: makeServiceAccount(account.projectId).json },
    { rawKey: true },
  )

describeContract('huawei v2 with a service account', {
  adapter: huawei,
  start: withAccount,
  token,
  expiringAuth: true,
  refusalMayPass: true,
  oversize,
})

describeContract('huawei v3', {
  adapter: huawei,
  start: withAccount,
  token: (index) => `MAMzLg${String(index).padStart(106, 'x')}`,
  recipient: { harmony: true },
  expiringAuth: true,
  refusalMayPass: true,
  oversize,
})
