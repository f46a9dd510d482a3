import { generateKeyPairSync } from 'node:crypto'
import { bundleId } from '@herald/testkit/push-certificate'
import type { Certificate } from '../../src/channel.ts'
import { sampleCertificate } from '../samples.ts'

export { bundleId, issuePushCertificate, newAppleAuthority } from '@herald/testkit/push-certificate'

export const keyId = 'ABC123DEFG'
export const teamId = 'TEAM123456'

/** A .p8 like those from Apple. */
export function newSigningKey(curve = 'P-256'): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: curve })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

export function tokenCertificate(p8: string, over: Partial<Certificate> = {}): Certificate {
  return sampleCertificate('apns', {
    appId: bundleId,
    appKey: keyId,
    appSecret: teamId,
    certificate: p8,
    ...over,
  })
}
