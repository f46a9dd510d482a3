import { bundleId } from '@herald/testkit/push-certificate'
import type { Certificate } from '../../src/channel.ts'
import { sampleCertificate } from '../samples.ts'

export { newSigningKey } from '@herald/testkit'
export { bundleId, issuePushCertificate, newAppleAuthority } from '@herald/testkit/push-certificate'

export const keyId = 'ABC123DEFG'
export const teamId = 'TEAM123456'

export function tokenCertificate(p8: string, over: Partial<Certificate> = {}): Certificate {
  return sampleCertificate('apns', {
    appId: bundleId,
    appKey: keyId,
    appSecret: teamId,
    certificate: p8,
    ...over,
  })
}
