import { meizu } from '../../src/meizu/channel.ts'
import { startMeizuSimulator } from '../../src/meizu/simulator.ts'
import { describeContract } from '../contract.ts'
import { meizuCertificate, meizuCredential, meizuToken } from './fixtures.ts'

describeContract('meizu', {
  adapter: meizu,
  async start() {
    const simulator = await startMeizuSimulator({ credentials: [meizuCredential] })
    return {
      simulator,
      certificate: meizuCertificate(),
      bad: meizuCertificate({ appSecret: 'ffffffff495867761f2e3d4c5b6a7988' }),
      urls: { meizu: simulator.url },
      kill: simulator.kill,
    }
  },
  token: meizuToken,
  expiringAuth: false,
  oversize: { ext: JSON.stringify({ blob: 'x'.repeat(1000) }) },
})
