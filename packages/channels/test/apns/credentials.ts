import { generateKeyPairSync } from 'node:crypto'
import type { Certificate } from '../../src/channel.ts'
import { sequence, utf8 } from '../../src/shared/der.ts'
import { type Authority, createAuthority } from '../../src/shared/sim-authority.ts'
import { sampleCertificate } from '../samples.ts'

export const bundleId = 'com.example.Parcel'
export const keyId = 'ABC123DEFG'
export const teamId = 'TEAM123456'

/** A .p8 as Apple hands it out. */
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

type Marks = { topics?: string[]; environments?: ('production' | 'development')[]; notAfter?: Date }

const derNull = Buffer.from([5, 0])

/** A push certificate with the extensions Apple writes; PEM certificate and key. */
export function issuePushCertificate(authority: Authority, marks: Marks = {}): { cert: string; key: string } {
  const { topics, environments = ['production'], notAfter } = marks
  return authority.issue({
    subject: { UID: topics?.[0] ?? bundleId, CN: `Apple Push Services: ${topics?.[0] ?? bundleId}`, C: 'US' },
    notAfter,
    extensions: [
      ...environments.map((name) => ({
        oid: name === 'production' ? '1.2.840.113635.100.6.3.2' : '1.2.840.113635.100.6.3.1',
        value: derNull,
      })),
      ...(topics
        ? [
            {
              oid: '1.2.840.113635.100.6.3.6',
              value: sequence(...topics.flatMap((topic) => [utf8(topic), sequence(utf8('app'))])),
            },
          ]
        : []),
    ],
  })
}

export const newAppleAuthority = (): Authority => createAuthority('Apple Worldwide Developer Relations')
