import type { CertificateHealth, SealHealth } from '@herald/db/readings'
import { cardOf, healthWarnings, isNever, publicName, utc } from '@herald/domain'
import { HERALD } from '../examples.ts'
import { plural } from '../format.ts'
import type { Finding } from './finding.ts'

const SOON_MS = 30 * 86_400_000

/** Whether the configured keys decrypt the stored secrets; undefined = no key is configured. */
export function judgeMasterKey(health: SealHealth | undefined): Finding {
  if (health === undefined)
    return {
      area: 'keys',
      state: 'fail',
      what: 'HERALD_MASTER_KEY is not set',
      advice: 'set the key of the programs; to generate the first one: openssl rand -hex 32',
    }
  const { current, others, broken } = health
  const all = current + others + broken
  if (broken > 0)
    return {
      area: 'keys',
      state: 'fail',
      what: `HERALD_MASTER_KEY does not decrypt ${broken} of ${plural(all, 'stored secret')}`,
      advice: 'set the key that encrypted them, or save the certificates again',
    }
  if (others > 0)
    return {
      area: 'keys',
      state: 'warn',
      what: `${others} of ${plural(all, 'stored secret')} still need one of HERALD_OTHER_MASTER_KEYS`,
      advice: 'wait until a planner has re-encrypted them before you remove that key',
    }
  const what =
    all === 0
      ? 'is set; there are no stored secrets to verify it'
      : `decrypts ${plural(all, 'stored secret')}`
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
          what: 'no application has a certificate; only the native channel works',
          advice: `${HERALD} certificate set <vendor>`,
        },
      ]
    : [
        {
          area: 'certificates',
          state: 'ok',
          what: `${plural(certificates.length, 'certificate')} open, none expires soon`,
        },
      ]
}

/** Vendors that report receipts get their address from HERALD_PUBLIC_URL. */
export function judgeReceipts(
  certificates: readonly CertificateHealth[],
  publicUrl: string | undefined,
): Finding[] {
  const reporting = certificates.filter(({ channel }) => cardOf(channel).reportsReceipts)
  if (publicUrl !== undefined || reporting.length === 0) return []
  const vendors = [...new Set(reporting.map(({ channel }) => cardOf(channel).title.en))]
  return [
    {
      area: 'settings',
      state: 'warn',
      what: `HERALD_PUBLIC_URL is not set, so there are no receipts of ${vendors.join(', ')}`,
      advice: 'set it to the address at which the vendors reach the HTTP interface',
    },
  ]
}

function judgeOne(one: CertificateHealth, now: number): Finding[] {
  const place = one.region ? `${one.environment}, ${one.region}` : one.environment
  const name = `${publicName(one.channel)} (${place}) of ${one.application}`
  const region = one.region ? ` --region ${one.region}` : ''
  const flags = `${one.channel} --environment ${one.environment}${region} --app ${one.application} --secret-file …`
  const findings: Finding[] = []
  if (one.state !== 'open')
    findings.push({
      area: 'certificates',
      state: 'fail',
      what: `${name} is ${one.state}: ${one.lastError ?? 'unknown reason'}${closedText(one)}`,
      advice: `fix it at the vendor, then run ${HERALD} certificate check ${flags}`,
    })
  for (const warning of healthWarnings(cardOf(one.channel).title.en, one.health))
    findings.push({
      area: 'certificates',
      state: 'warn',
      what: `${name}: ${warning}`,
      advice: `see ${HERALD} certificate list; when the cause is gone, run ${HERALD} certificate check ${flags}`,
    })
  if (one.expiresAt && one.expiresAt.getTime() - now < SOON_MS) {
    const day = one.expiresAt.toISOString().slice(0, 10)
    const expired = one.expiresAt.getTime() <= now
    findings.push({
      area: 'certificates',
      state: expired ? 'fail' : 'warn',
      what: `${name} ${expired ? 'expired' : 'expires'} on ${day}`,
      advice: `renew it at the vendor, then run ${HERALD} certificate set ${flags}`,
    })
  }
  return findings
}

function closedText({ state, closedAt, probeAt }: CertificateHealth): string {
  if (state !== 'closed' || !closedAt) return ''
  const time = probeAt?.getTime()
  const next = time === undefined || isNever(time) ? '' : `, checked again at ${utc(time / 1000)}`
  return ` (since ${utc(closedAt.getTime() / 1000)}${next})`
}
