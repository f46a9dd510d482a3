import { createPrivateKey, type KeyObject } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { CertificateProblem, type MintedSession } from '../channel.ts'
import { parseObject } from '../shared/http.ts'

/** The JSON file that the Huawei Developers console hands out for a service account. */
export type ServiceAccount = { projectId: string; keyId: string; subAccount: string; privateKey: KeyObject }

export function readServiceAccount(json: string): ServiceAccount {
  const file = parseObject(json)
  if (!file)
    throw new CertificateProblem('certificate must be blank or the whole service-account JSON of Huawei')
  if (typeof file.client_email === 'string')
    throw new CertificateProblem(
      'certificate holds a Google service account; the Huawei one has project_id, key_id, private_key and sub_account',
    )
  const field = (name: string) => {
    const value = file[name]
    if (typeof value !== 'string' || !value.trim())
      throw new CertificateProblem(`certificate is a service-account JSON without ${name}`)
    return value.trim()
  }
  const projectId = field('project_id')
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(projectId))
    throw new CertificateProblem('project_id in the service-account JSON is not a project id')
  return {
    projectId,
    keyId: field('key_id'),
    subAccount: field('sub_account'),
    privateKey: readKey(field('private_key')),
  }
}

function readKey(pem: string): KeyObject {
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch {
    throw new CertificateProblem('private_key in the service-account JSON is not a PEM private key')
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  if (key.asymmetricKeyType !== 'rsa' || bits < 2048)
    throw new CertificateProblem(
      'private_key in the service-account JSON must be an RSA key of 2048 bits or more',
    )
  return key
}

/** Fixed by Huawei, whatever host the request goes to. */
export const jwtAudience = 'https://oauth-login.cloud.huawei.com/oauth2/v3/token'
const lifeSeconds = 3600

export function signPass(account: ServiceAccount, nowMs: number): MintedSession {
  const iat = Math.floor(nowMs / 1000)
  const exp = iat + lifeSeconds
  const value = jwt.sign({ aud: jwtAudience, iss: account.subAccount, iat, exp }, account.privateKey, {
    algorithm: 'PS256',
    keyid: account.keyId,
  })
  return { value, renewAt: (exp - 300) * 1000, expiresAt: exp * 1000 }
}
