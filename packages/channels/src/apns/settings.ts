import type { KeyObject } from 'node:crypto'
import type { MessageClass } from '@herald/domain'
import { type Certificate, CertificateProblem } from '../channel.ts'
import { type ExtraLimits, requireField } from '../shared/extra.ts'
import { readCardExtra } from '../shared/from-card.ts'
import { tryPrivateKey } from '../shared/private-key.ts'
import { card } from './card.ts'
import { readPushCertificate } from './push-certificate.ts'

export type TokenAuth = { kind: 'token'; key: KeyObject; keyId: string; teamId: string }
type CertificateAuth = { kind: 'certificate'; cert: string; key: string; expiresAt: number }

export type ApnsSettings = {
  environment: Certificate['environment']
  /** Topic of bindings without a bundle id. */
  topic: string
  /** All topics of this credential, including `topic`. */
  topics: readonly string[]
  auth: TokenAuth | CertificateAuth
  limits: ExtraLimits
  defaultClass: MessageClass
}

/** app_id: bundle id; app_key: key id; app_secret: team id or passphrase; certificate: .p8, .p12 or PEM. */
export function readSettings(certificate: Certificate): ApnsSettings {
  const extra = readCardExtra(card, certificate.extra, {})
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

type Credential = { topic: string; auth: ApnsSettings['auth'] }

/** A .p8 contains only a private key; a push certificate also contains an X.509 certificate. */
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
  const key = tryPrivateKey(source)
  if (!key)
    throw new CertificateProblem(
      'certificate is not a readable .p8 key: paste the complete file from Apple, including its BEGIN and END lines',
    )
  if (key.asymmetricKeyType !== 'ec' || key.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw new CertificateProblem(
      `certificate contains ${describeKey(key)}; enter the .p8 from Apple, which is an EC key on P-256`,
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
      `the certificate is for the ${push.environments[0]} environment, but this record is for ${environment}`,
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

/** A certificate also lists the app's .voip and .complication topics; the app's own topic is their common prefix. */
function onlyTopic(topics: string[]): string {
  const apps = topics.filter(
    (topic) => !topics.some((other) => other !== topic && topic.startsWith(`${other}.`)),
  )
  if (apps.length === 1) return apps[0]!
  throw new CertificateProblem(
    apps.length === 0
      ? 'app_id is missing: the certificate contains no topic, so enter the bundle id'
      : `app_id is missing: the certificate covers several apps (${apps.join(', ')}), so enter one of them`,
  )
}

function checkBundleId(id: string, field: string): string {
  if (!/^[A-Za-z0-9._-]{1,200}$/.test(id))
    throw new CertificateProblem(
      `${field} is not a bundle id: only letters, digits, dots and hyphens are allowed`,
    )
  return id
}

function checkAppleId(id: string, field: string): string {
  if (!/^[A-Z0-9]{10}$/.test(id))
    throw new CertificateProblem(`${field} must be 10 capital letters or digits, as shown by Apple`)
  return id
}
