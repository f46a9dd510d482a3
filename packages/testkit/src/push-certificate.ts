import { type Authority, createAuthority } from '@herald/simulators/authority'
import { sequence, utf8 } from '@herald/simulators/der'

export const bundleId = 'com.example.Parcel'

type Marks = { topics?: string[]; environments?: ('production' | 'development')[]; notAfter?: Date }

const derNull = Buffer.from([5, 0])

/** A push certificate with Apple's extensions; PEM certificate and key. */
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
