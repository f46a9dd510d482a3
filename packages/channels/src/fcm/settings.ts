import type { KeyObject } from 'node:crypto'
import type { MessageClass } from '@herald/domain'
import { type Certificate, CertificateProblem } from '../channel.ts'
import { type ExtraLimits, requireField } from '../shared/extra.ts'
import { readCardExtra } from '../shared/from-card.ts'
import { tryPrivateKeyOfJson } from '../shared/private-key.ts'
import { card } from './card.ts'

export type FcmSettings = {
  projectId: string
  clientEmail: string
  privateKey: KeyObject
  privateKeyId?: string
  /** Tokens must belong to this Android package. */
  packageName?: string
  limits: ExtraLimits
  defaultClass: MessageClass
}

/**
 * Google's token endpoint, and its name in older key files. Herald calls the URL of its own settings; a file with another URL was
 * made to send signed assertions there.
 */
const tokenUris = ['https://oauth2.googleapis.com/token', 'https://accounts.google.com/o/oauth2/token']

/** app_id: project id, by default that of the file; certificate: the complete service-account JSON. */
export function readSettings(certificate: Certificate): FcmSettings {
  const extra = readCardExtra(card, certificate.extra, {})
  const account = readAccount(
    requireField(
      certificate.certificate,
      'certificate',
      'the service-account JSON from the Firebase console',
    ),
  )
  const projectId = (certificate.appId ?? '').trim() || account.projectId
  if (!projectId)
    throw new CertificateProblem(
      'app_id is missing: the service-account JSON has no project_id, so enter the project id',
    )
  if (!/^[a-z0-9][a-z0-9.:-]{0,62}$/.test(projectId))
    throw new CertificateProblem(
      'app_id is not a Firebase project id: only lower-case letters, digits and hyphens are allowed',
    )
  return {
    projectId,
    clientEmail: account.clientEmail,
    privateKey: account.privateKey,
    privateKeyId: account.privateKeyId,
    packageName: extra.package_name,
    limits: extra.limits,
    defaultClass: extra.defaultClass,
  }
}

type Account = { projectId?: string; clientEmail: string; privateKey: KeyObject; privateKeyId?: string }

function readAccount(source: string): Account {
  const file = parseAccount(source)
  if (file.type !== 'service_account')
    throw new CertificateProblem(
      `certificate is ${describeType(file)}, not a service account: generate a new private key under Project settings, Service accounts`,
    )
  const { client_email: clientEmail, private_key: privateKey, token_uri: tokenUri } = file
  if (typeof clientEmail !== 'string' || !/^[^\s@]+@[^\s@]+$/.test(clientEmail))
    throw new CertificateProblem(
      'client_email of the service-account JSON is missing or not an email address',
    )
  if (typeof privateKey !== 'string' || !privateKey)
    throw new CertificateProblem(
      'private_key of the service-account JSON is missing: paste the complete file',
    )
  if (tokenUri !== undefined && !tokenUris.includes(tokenUri as string))
    throw new CertificateProblem(`token_uri of the service-account JSON must be ${tokenUris[0]}`)
  return {
    projectId: typeof file.project_id === 'string' ? file.project_id.trim() : undefined,
    clientEmail,
    privateKey: readKey(privateKey),
    privateKeyId: typeof file.private_key_id === 'string' ? file.private_key_id : undefined,
  }
}

function parseAccount(source: string): Record<string, unknown> {
  let file: unknown
  try {
    file = JSON.parse(source)
  } catch {
    throw new CertificateProblem(
      'certificate is not valid JSON: paste the complete service-account file from the Firebase console',
    )
  }
  if (typeof file !== 'object' || file === null || Array.isArray(file))
    throw new CertificateProblem('certificate must be the JSON object of a service account')
  return file as Record<string, unknown>
}

function describeType(file: Record<string, unknown>): string {
  if ('project_info' in file) return 'a google-services.json of an app'
  return typeof file.type === 'string' && /^\w{1,40}$/.test(file.type)
    ? `a key of type ${file.type}`
    : 'JSON without a type'
}

function readKey(pem: string): KeyObject {
  const key = tryPrivateKeyOfJson(pem)
  if (!key)
    throw new CertificateProblem('private_key of the service-account JSON cannot be read as a PEM key')
  if (key.asymmetricKeyType !== 'rsa')
    throw new CertificateProblem(
      `private_key of the service-account JSON must be an RSA key, not ${key.asymmetricKeyType}`,
    )
  return key
}
