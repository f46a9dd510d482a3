import { startApnsSimulator } from '@herald/simulators/apns'
import { adapter as apns } from '../../src/apns/channel.ts'
import { describeContract } from '../contract.ts'
import {
  issuePushCertificate,
  keyId,
  newAppleAuthority,
  newSigningKey,
  teamId,
  tokenCertificate,
} from './credentials.ts'

const token = (index: number) => `b${index.toString(16).padStart(7, '0')}`.padEnd(64, '5')
const oversize = { ext: JSON.stringify({ text: 'x'.repeat(4096) }) }

for (const client of ['own', 'reference'] as const)
  describeContract(`apns with a signing key through the ${client} client`, {
    adapter: { ...apns, open: (settings, deps) => apns.open(settings, { ...deps, client }) },
    async start() {
      const key = newSigningKey()
      const simulator = await startApnsSimulator({ keys: [{ keyId, teamId, key }] })
      return {
        simulator,
        certificate: tokenCertificate(key),
        bad: tokenCertificate(newSigningKey()),
        urls: { apns: simulator.url },
        ca: simulator.ca,
        kill: (tokens) => simulator.kill(tokens),
      }
    },
    token,
    // The library signs its own tokens, which cannot be counted here.
    expiringAuth: client === 'own',
    oversize,
  })

describeContract('apns with a certificate', {
  adapter: apns,
  async start() {
    const apple = newAppleAuthority()
    const simulator = await startApnsSimulator({ certificateAuthorities: [apple.cert] })
    const record = ({ cert, key }: { cert: string; key: string }) =>
      tokenCertificate(cert + key, { appKey: '', appSecret: '' })
    return {
      simulator,
      certificate: record(issuePushCertificate(apple)),
      bad: record(issuePushCertificate(newAppleAuthority())),
      urls: { apns: simulator.url },
      ca: simulator.ca,
      kill: (tokens) => simulator.kill(tokens),
    }
  },
  token,
  expiringAuth: false,
  oversize,
})
