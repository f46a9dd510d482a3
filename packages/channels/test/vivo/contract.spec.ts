import { startVivoSimulator } from '@herald/simulators/vivo'
import { adapter as vivo } from '../../src/vivo/channel.ts'
import { describeContract } from '../contract.ts'
import { vivoCertificate, vivoCredential, vivoToken } from './fixtures.ts'

const extra = { callback_id: 'r7' }

describeContract('vivo', {
  adapter: vivo,
  async start() {
    const simulator = await startVivoSimulator({ credentials: [vivoCredential] })
    return {
      simulator,
      certificate: vivoCertificate({ extra }),
      bad: vivoCertificate({ appSecret: 'ffffffff-6b1d-4c7a-8e55-91d0c4b7a2f6' }),
      urls: { vivo: simulator.url },
      kill: simulator.kill,
      registerReceipts: (url) => simulator.registerReceipts({ callbackId: extra.callback_id, url }),
    }
  },
  token: vivoToken,
  expiringAuth: true,
  oversize: { ext: JSON.stringify({ blob: 'x'.repeat(1100) }) },
})
