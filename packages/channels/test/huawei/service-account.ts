import { generateKeyPairSync } from 'node:crypto'

/** A service-account JSON like those of the console, and what the simulator must know of it. */
export function makeServiceAccount(projectId: string) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  const file = { project_id: projectId, key_id: 'key-1', private_key: privateKey, sub_account: '110005' }
  return {
    projectId,
    file,
    json: JSON.stringify(file),
    known: { keyId: file.key_id, subAccount: file.sub_account, publicKey },
  }
}
