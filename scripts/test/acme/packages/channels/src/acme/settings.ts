import type { MessageClass } from '@herald/domain'
import type { Certificate } from '../channel.ts'
import { type ExtraLimits, requireWord } from '../shared/extra.ts'
import { readCardExtra } from '../shared/from-card.ts'
import { card } from './card.ts'

export type AcmeSettings = {
  appId: string
  key: string
  fuse?: 'short' | 'long'
  limits: ExtraLimits
  defaultClass: MessageClass
}

export function readSettings(certificate: Certificate): AcmeSettings {
  const { fuse, limits, defaultClass } = readCardExtra(card, certificate.extra, {})
  return {
    appId: requireWord(certificate.appId, 'app_id', 'the App ID of the Acme console'),
    key: requireWord(certificate.appSecret, 'app_secret', 'the rocket key of the Acme console'),
    fuse,
    limits,
    defaultClass,
  }
}
