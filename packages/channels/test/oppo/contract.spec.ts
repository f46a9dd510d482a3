import { createHash } from 'node:crypto'
import { startOppoSimulator } from '@herald/simulators/oppo'
import { adapter as oppo } from '../../src/oppo/channel.ts'
import { describeContract } from '../contract.ts'
import { sampleCertificate } from '../samples.ts'

const certificate = sampleCertificate('oppo', {
  appId: '3000001',
  appKey: 'sim-app-key',
  appSecret: 'sim-master-secret',
  extra: { channel_id: 'chat' },
})

describeContract('oppo', {
  adapter: oppo,
  async start() {
    const simulator = await startOppoSimulator()
    return {
      simulator,
      certificate,
      bad: { ...certificate, appSecret: 'another-secret' },
      urls: { oppo: simulator.url },
      kill: simulator.kill,
    }
  },
  token: (index) => `OPPO_CN_${createHash('md5').update(String(index)).digest('hex')}`,
  expiringAuth: true,
  oversize: { ext: JSON.stringify({ note: 'x'.repeat(4000) }) },
})
