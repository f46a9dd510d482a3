import { startMeizuSimulator } from '@herald/simulators/meizu'
import { adapter as meizu } from '../../src/meizu/channel.ts'
import { describeContract } from '../contract.ts'
import { meizuCertificate, meizuCredential, meizuToken } from './fixtures.ts'

const accessToken = 'receipt-token'
const extra = { receipt_registered: true, receipt_token: accessToken }

describeContract('meizu', {
  adapter: meizu,
  async start() {
    const simulator = await startMeizuSimulator({ credentials: [meizuCredential] })
    return {
      simulator,
      certificate: meizuCertificate({ extra }),
      bad: meizuCertificate({ appSecret: 'ffffffff495867761f2e3d4c5b6a7988' }),
      urls: { meizu: simulator.url },
      kill: simulator.kill,
      registerReceipts: (url) =>
        simulator.registerReceipts({ appId: meizuCredential.appId, url, accessToken }),
    }
  },
  token: meizuToken,
  expiringAuth: false,
  oversize: { ext: JSON.stringify({ blob: 'x'.repeat(4200) }) },
})
