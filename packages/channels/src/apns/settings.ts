import { createPrivateKey, type KeyObject } from 'node:crypto'
import type { MessageClass } from '@herald/domain'
import { type Certificate, CertificateProblem, type Limits } from '../channel.ts'
import { type ExtraLimits, readExtra, requireField, texts } from '../shared/extra.ts'
import { readPushCertificate } from './push-certificate.ts'

export type TokenAuth = { kind: 'token'; key: KeyObject; keyId: string; teamId: string }
type CertificateAuth = { kind: 'certificate'; cert: string; key: string; expiresAt: number }

export type ApnsSettings = {
  environment: Certificate['environment']
  /** Topic of bindings that name none. */
  topic: string
  /** Every topic this credential is used for, `topic` included. */
  topics: readonly string[]
  auth: TokenAuth | CertificateAuth
  limits: ExtraLimits
  defaultClass: MessageClass
}

/** app_id: bundle id; app_key: key id; app_secret: team id or passphrase; certificate: .p8, .p12 or PEM. */
export function readSettings(certificate: Certificate): ApnsSettings {
  const extra = readExtra(certificate.extra, { bundle_ids: texts }, {})
  const source = requireField(certificate.certificate, 'certificate', 'the .p8 key, the .p12 or the PEM')
  const bundleIds = (extra.bundle_ids ?? []).map((id) => checkBundleId(id, 'extra.bundle_ids'))
  const { topic, auth } = isSigningKey(source)
    ? readTokenAuth(certificate, source)
    : readCertificateAuth(certificate, source, bundleIds)
  return {
    environment: certificate.environment,
    topic,
    topics: [...new Set([topic, ...bundleIds])],
    auth,
    limits: extra.limits,
    defaultClass: extra.defaultClass,
  }
}

/** Apple publishes no rate for an app, only one for a single device. */
export function limits({ limits }: ApnsSettings): Limits {
  return { ...limits, timeZone: 'UTC' }
}

type Credential = { topic: string; auth: ApnsSettings['auth'] }

/** A .p8 is a private key alone; a certificate always comes with the certificate itself. */
function isSigningKey(source: string): boolean {
  return source.includes('PRIVATE KEY-----') && !source.includes('BEGIN CERTIFICATE')
}

function readTokenAuth(certificate: Certificate, source: string): Credential {
  const topic = checkBundleId(
    requireField(certificate.appId, 'app_id', 'the bundle id of the app, e.g. com.example.App'),
    'app_id',
  )
  return {
    topic,
    auth: {
      kind: 'token',
      key: readSigningKey(source),
      keyId: checkAppleId(requireField(certificate.appKey, 'app_key', 'the key id of the .p8'), 'app_key'),
      teamId: checkAppleId(requireField(certificate.appSecret, 'app_secret', 'the team id'), 'app_secret'),
    },
  }
}

function readSigningKey(source: string): KeyObject {
  let key: KeyObject
  try {
    key = createPrivateKey(source)
  } catch {
    throw new CertificateProblem(
      'certificate is no readable .p8 key: paste the file from Apple whole, with its BEGIN and END lines',
    )
  }
  if (key.asymmetricKeyType !== 'ec' || key.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw new CertificateProblem(
      `certificate holds ${describeKey(key)}; a .p8 from Apple is an EC key on P-256`,
    )
  return key
}

function describeKey(key: KeyObject): string {
  const curve = key.asymmetricKeyDetails?.namedCurve
  return curve ? `an EC key on ${curve}` : `a key of type ${key.asymmetricKeyType ?? 'unknown'}`
}

function readCertificateAuth(certificate: Certificate, source: string, bundleIds: string[]): Credential {
  const push = readPushCertificate(source, certificate.appSecret ?? '')
  const { environment } = certificate
  if (push.environments.length > 0 && !push.environments.includes(environment))
    throw new CertificateProblem(
      `the certificate is for the ${push.environments[0]} environment, this record is for ${environment}`,
    )
  const named = (certificate.appId ?? '').trim()
  const topic = named ? checkBundleId(named, 'app_id') : onlyTopic(push.topics)
  for (const wanted of [topic, ...bundleIds])
    if (push.topics.length > 0 && !push.topics.includes(wanted))
      throw new CertificateProblem(
        `the certificate does not cover ${wanted}; it covers ${push.topics.join(', ')}`,
      )
  return {
    topic,
    auth: { kind: 'certificate', cert: push.cert, key: push.key, expiresAt: push.expiresAt },
  }
}

/** One app's certificate lists its .voip and .complication topics too; the app itself is the one they all begin with. */
function onlyTopic(topics: string[]): string {
  const apps = topics.filter(
    (topic) => !topics.some((other) => other !== topic && topic.startsWith(`${other}.`)),
  )
  if (apps.length === 1) return apps[0]!
  throw new CertificateProblem(
    apps.length === 0
      ? 'app_id is missing: the certificate names no topic, so the bundle id must be given'
      : `app_id is missing: the certificate covers several apps (${apps.join(', ')})`,
  )
}

function checkBundleId(id: string, field: string): string {
  if (!/^[A-Za-z0-9._-]{1,200}$/.test(id))
    throw new CertificateProblem(`${field} is no bundle id: it has letters, digits, dots and hyphens only`)
  return id
}

function checkAppleId(id: string, field: string): string {
  if (!/^[A-Z0-9]{10}$/.test(id))
    throw new CertificateProblem(`${field} must be 10 capital letters or digits, as Apple shows it`)
  return id
}
