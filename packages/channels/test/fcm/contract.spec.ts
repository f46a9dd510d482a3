import { startFcmSimulator } from '@herald/simulators/fcm'
import { adapter as fcm } from '../../src/fcm/channel.ts'
import { describeContract } from '../contract.ts'
import { accountCertificate, clientEmail, newAccountKey, projectId } from './credentials.ts'

const key = newAccountKey()
const otherKey = newAccountKey()

describeContract('fcm', {
  adapter: fcm,
  async start() {
    const simulator = await startFcmSimulator({ accounts: [{ clientEmail, key, projects: [projectId] }] })
    return {
      simulator,
      certificate: accountCertificate(key),
      bad: accountCertificate(otherKey),
      urls: { fcm: simulator.url, fcmToken: simulator.url },
      ca: simulator.ca,
      kill: (tokens) => simulator.kill(tokens),
    }
  },
  token: (index) => `fid${index}:APA91b${String(index).padStart(140, 'x')}`,
  expiringAuth: true,
  oversize: { ext: JSON.stringify({ text: 'x'.repeat(4096) }) },
})
