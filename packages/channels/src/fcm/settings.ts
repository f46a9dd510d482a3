import { createPrivateKey, type KeyObject } from 'node:crypto'
import type { MessageClass } from '@herald/domain'
import { type Certificate, CertificateProblem, type Limits } from '../channel.ts'
import { type ExtraLimits, readExtra, requireField, text } from '../shared/extra.ts'

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
 * Google's own endpoint, also under the name older key files have. Herald calls the address of its process settings; a file
 * that names another place was made to send signed assertions there.
 */
const tokenUris = ['https://oauth2.googleapis.com/token', 'https://accounts.google.com/o/oauth2/token']

/** app_id: project id, blank = from the file; certificate: the whole service-account JSON. */
export function readSettings(certificate: Certificate): FcmSettings {
  const extra = readExtra(certificate.extra, { package_name: text }, {})
  const account = readAccount(
    requireField(
      certificate.certificate,
      'certificate',
      'the service-account JSON from the Firebase console',
    ),
  )
  const projectId = (certificate.appId ?? '').trim() || account.projectId
  if (!projectId)
    throw new CertificateProblem('app_id is missing: the service-account JSON names no project_id either')
  if (!/^[a-z0-9][a-z0-9.:-]{0,62}$/.test(projectId))
    throw new CertificateProblem('app_id is no Firebase project id: it has small letters, digits and hyphens')
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

// https://firebase.google.com/docs/cloud-messaging/throttling-and-quotas: 600,000 messages a minute and project
const requestsPerSecond = 10_000

export function limits({ limits }: FcmSettings): Limits {
  return {
    ...limits,
    requestsPerSecond: limits.requestsPerSecond ?? requestsPerSecond,
    timeZone: 'UTC',
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
    throw new CertificateProblem('client_email of the service-account JSON is missing or no address')
  if (typeof privateKey !== 'string' || !privateKey)
    throw new CertificateProblem('private_key of the service-account JSON is missing')
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
      'certificate is no JSON: paste the service-account file from the Firebase console whole',
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
  const key = tryKey(pem) ?? tryKey(pem.replaceAll('\\n', '\n'))
  if (!key)
    throw new CertificateProblem('private_key of the service-account JSON cannot be read as a PEM key')
  if (key.asymmetricKeyType !== 'rsa')
    throw new CertificateProblem(
      `private_key of the service-account JSON is of type ${key.asymmetricKeyType}, Google’s are RSA`,
    )
  return key
}

function tryKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}
