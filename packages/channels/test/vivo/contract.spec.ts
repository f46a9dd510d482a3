import { vivo } from '../../src/vivo/channel.ts'
import { startVivoSimulator } from '../../src/vivo/simulator.ts'
import { describeContract } from '../contract.ts'
import { vivoCertificate, vivoCredential, vivoToken } from './fixtures.ts'

describeContract('vivo', {
  adapter: vivo,
  async start() {
    const simulator = await startVivoSimulator({ credentials: [vivoCredential] })
    return {
      simulator,
      certificate: vivoCertificate(),
      bad: vivoCertificate({ appSecret: 'ffffffff-6b1d-4c7a-8e55-91d0c4b7a2f6' }),
      urls: { vivo: simulator.url },
      kill: simulator.kill,
    }
  },
  token: vivoToken,
  expiringAuth: true,
  oversize: { ext: JSON.stringify({ blob: 'x'.repeat(1100) }) },
})
