import { startApnsSimulator } from '@herald/simulators/apns'
import { adapter as apns } from '../../src/apns/channel.ts'
import type { ApnsPayload } from '../../src/apns/payload.ts'
import type { ApnsSettings } from '../../src/apns/settings.ts'
import type { Transport, TransportDeps } from '../../src/channel.ts'
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

const minutes = (count: number) => count * 60_000

/**
 * A transport whose clock moves: a refused key is believed after three minutes, in which the runner sends again, and a provider token is
 * not replaced within 20 minutes.
 */
function openMoving(settings: ApnsSettings, deps: TransportDeps): Transport<ApnsPayload> {
  let late = 0
  const transport = apns.open(settings, { ...deps, now: () => deps.now() + late })
  return {
    ...transport,
    async send(payload, recipients, { signal, report }) {
      const refused: number[] = []
      await transport.send(payload, recipients, {
        signal,
        report(index, outcome) {
          const isRefused =
            outcome.kind === 'unavailable' && outcome.reason.code === 'apns.InvalidProviderToken'
          if (isRefused) refused.push(index)
          else report(index, outcome)
        },
      })
      if (refused.length > 0) {
        late += minutes(3)
        const again = refused.map((index) => recipients[index]!)
        await transport.send(payload, again, {
          signal,
          report: (at, outcome) => report(refused[at]!, outcome),
        })
      }
      late = Math.max(late, minutes(21))
    },
  }
}

for (const client of ['own', 'reference'] as const)
  describeContract(`apns with a signing key through the ${client} client`, {
    adapter: { ...apns, open: (settings, deps) => openMoving(settings, { ...deps, client }) },
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
