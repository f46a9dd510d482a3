import { generateKeyPairSync } from 'node:crypto'

/** A .p8 like those from Apple. */
export function newSigningKey(curve = 'P-256'): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: curve })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}
