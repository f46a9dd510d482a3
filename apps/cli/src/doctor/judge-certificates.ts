import type { CertificateHealth } from '@herald/db'
import { publicName } from '@herald/domain'
import { plural } from '../words.ts'
import type { Finding } from './finding.ts'

const SOON_MS = 30 * 86_400_000

/** Whether the key that was given is the one that the stored secrets were written with. */
export function judgeMasterKey(given: boolean, certificates: readonly CertificateHealth[]): Finding {
  if (!given)
    return {
      area: 'keys',
      state: 'fail',
      what: 'HERALD_MASTER_KEY is not set',
      advice: 'set the key that the programs run with; to make a first one: openssl rand -hex 32',
    }
  const sealed = certificates.filter(({ opens }) => opens === false).length
  if (sealed > 0)
    return {
      area: 'keys',
      state: 'fail',
      what: `HERALD_MASTER_KEY does not open ${sealed} of ${plural(certificates.length, 'certificate')}`,
      advice: 'set the key that they were saved with, or save them again',
    }
  return {
    area: 'keys',
    state: 'ok',
    what:
      certificates.length === 0
        ? 'HERALD_MASTER_KEY is set; no certificate is stored that could prove it'
        : `HERALD_MASTER_KEY opens ${plural(certificates.length, 'certificate')}`,
  }
}

export function judgeCertificates(certificates: readonly CertificateHealth[], now: number): Finding[] {
  const findings = certificates.flatMap((one) => judgeOne(one, now))
  if (findings.length > 0) return findings
  return certificates.length === 0
    ? [
        {
          area: 'certificates',
          state: 'warn',
          what: 'no application has a certificate, so that only the native channel works',
          advice: 'herald certificate set <vendor>',
        },
      ]
    : [
        {
          area: 'certificates',
          state: 'ok',
          what: `${plural(certificates.length, 'certificate')} open, none about to expire`,
        },
      ]
}

function judgeOne(one: CertificateHealth, now: number): Finding[] {
  const name = `${publicName(one.channel)} (${one.environment}) of ${one.application}`
  const findings: Finding[] = []
  if (one.state !== 'open')
    findings.push({
      area: 'certificates',
      state: 'fail',
      what: `${name} is ${one.state}: ${one.lastError ?? 'the reason is not known'}`,
      advice: `mend it at the vendor, then: herald certificate check ${one.channel} --app ${one.application}`,
    })
  if (one.expiresAt && one.expiresAt.getTime() - now < SOON_MS) {
    const day = one.expiresAt.toISOString().slice(0, 10)
    const over = one.expiresAt.getTime() <= now
    findings.push({
      area: 'certificates',
      state: over ? 'fail' : 'warn',
      what: `${name} ${over ? 'expired' : 'expires'} on ${day}`,
      advice: `renew it at the vendor and save it: herald certificate set ${one.channel}`,
    })
  }
  return findings
}
