import { startXiaomiSimulator } from '@herald/simulators/xiaomi'
import { adapter as xiaomi } from '../../src/xiaomi/channel.ts'
import { describeContract } from '../contract.ts'
import { sampleCertificate } from '../samples.ts'

const certificate = sampleCertificate('xiaomi', {
  appId: '2882303761517000000',
  appKey: '5000000000000',
  appSecret: 'sim-secret',
  extra: { package_name: 'com.example.app', channel_id: '100001' },
})

describeContract('xiaomi', {
  adapter: xiaomi,
  async start() {
    const simulator = await startXiaomiSimulator()
    return {
      simulator,
      certificate,
      bad: { ...certificate, appSecret: 'another-secret' },
      urls: { xiaomi: simulator.url },
      kill: simulator.kill,
    }
  },
  token: (index) => Buffer.from(`regid number ${index}`.padEnd(48, '.')).toString('base64'),
  expiringAuth: false,
  oversize: { ext: JSON.stringify({ note: 'x'.repeat(4096) }) },
})
