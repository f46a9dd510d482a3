import type { CertificateHealth, SealHealth } from '@herald/db/readings'
import { publicName } from '@herald/domain'
import { HERALD } from '../examples.ts'
import { plural } from '../words.ts'
import type { Finding } from './finding.ts'

const SOON_MS = 30 * 86_400_000

/** Whether the keys that were given are those that the stored secrets were written with; undefined = none was given. */
export function judgeMasterKey(health: SealHealth | undefined): Finding {
  if (health === undefined)
    return {
      area: 'keys',
      state: 'fail',
      what: 'HERALD_MASTER_KEY is not set',
      advice: 'set the key that the programs run with; to make a first one: openssl rand -hex 32',
    }
  const { current, others, broken } = health
  const all = current + others + broken
  if (broken > 0)
    return {
      area: 'keys',
      state: 'fail',
      what: `HERALD_MASTER_KEY does not open ${broken} of ${plural(all, 'stored secret')}`,
      advice: 'set the key that they were written with, or save the certificates again',
    }
  if (others > 0)
    return {
      area: 'keys',
      state: 'warn',
      what: `${others} of ${plural(all, 'stored secret')} still need one of HERALD_OTHER_MASTER_KEYS`,
      advice: 'wait for a planner to seal them anew before that key goes',
    }
  const what =
    all === 0 ? 'is set; nothing is stored that could prove it' : `opens ${plural(all, 'stored secret')}`
  return { area: 'keys', state: 'ok', what: `HERALD_MASTER_KEY ${what}` }
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
          advice: `${HERALD} certificate set <vendor>`,
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
  const flags = `${one.channel} --environment ${one.environment} --app ${one.application} --secret …`
  const findings: Finding[] = []
  if (one.state !== 'open')
    findings.push({
      area: 'certificates',
      state: 'fail',
      what: `${name} is ${one.state}: ${one.lastError ?? 'the reason is not known'}`,
      advice: `mend it at the vendor, then: ${HERALD} certificate check ${flags}`,
    })
  if (one.expiresAt && one.expiresAt.getTime() - now < SOON_MS) {
    const day = one.expiresAt.toISOString().slice(0, 10)
    const over = one.expiresAt.getTime() <= now
    findings.push({
      area: 'certificates',
      state: over ? 'fail' : 'warn',
      what: `${name} ${over ? 'expired' : 'expires'} on ${day}`,
      advice: `renew it at the vendor and save it: ${HERALD} certificate set ${flags}`,
    })
  }
  return findings
}
