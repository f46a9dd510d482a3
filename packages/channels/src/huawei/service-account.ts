import type { KeyObject } from 'node:crypto'
import { CertificateProblem } from '../channel.ts'
import { parseObject } from '../shared/http.ts'
import { tryPrivateKeyOfJson } from '../shared/private-key.ts'

/** The JSON file of a service account from the Huawei Developers console. */
export type ServiceAccount = { projectId: string; keyId: string; subAccount: string; privateKey: KeyObject }

export function readServiceAccount(json: string): ServiceAccount {
  const file = parseObject(json)
  if (!file)
    throw new CertificateProblem('certificate must be empty or the complete service-account JSON from Huawei')
  if (typeof file.client_email === 'string')
    throw new CertificateProblem(
      'certificate is a Google service account; use the Huawei one, which has project_id, key_id, private_key and sub_account',
    )
  const field = (name: string) => {
    const value = file[name]
    if (typeof value !== 'string' || !value.trim())
      throw new CertificateProblem(
        `certificate is a service-account JSON without ${name}: paste the complete file`,
      )
    return value.trim()
  }
  const projectId = field('project_id')
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(projectId))
    throw new CertificateProblem('project_id in the service-account JSON is not a valid project id')
  return {
    projectId,
    keyId: field('key_id'),
    subAccount: field('sub_account'),
    privateKey: readKey(field('private_key')),
  }
}

function readKey(pem: string): KeyObject {
  const key = tryPrivateKeyOfJson(pem)
  if (!key) throw new CertificateProblem('private_key in the service-account JSON is not a PEM private key')
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  if (key.asymmetricKeyType !== 'rsa' || bits < 2048)
    throw new CertificateProblem(
      'private_key in the service-account JSON must be an RSA key of 2048 bits or more',
    )
  return key
}
