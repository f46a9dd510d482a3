import type { ReasonKinds } from '../card.ts'

/** What the codes in reasons of this vendor mean to a reader. `a.b`: the code `a` with the detail `b`. */
export const reasonKinds = {
  token_dead: ['BadDeviceToken', 'DeviceTokenNotForTopic', 'ExpiredToken', 'Unregistered'],
  wrong_app: [
    'BadTopic',
    'MissingTopic',
    'TopicDisallowed',
    'BadDeviceToken.topic',
    'DeviceTokenNotForTopic.topic',
  ],
  message_refused: [
    'BadCollapseId',
    'BadExpirationDate',
    'BadMessageId',
    'BadPath',
    'BadPriority',
    'DuplicateHeaders',
    'InvalidPushType',
    'MethodNotAllowed',
    'MissingDeviceToken',
    'PayloadEmpty',
  ],
  too_large: ['PayloadTooLarge'],
  credentials_refused: [
    'BadCertificate',
    'BadCertificateEnvironment',
    'BadEnvironmentKeyIdInToken',
    'BadEnvironmentKeyInToken',
    'Forbidden',
    'InvalidProviderToken',
    'MissingProviderToken',
    'UnrelatedKeyIdInToken',
  ],
  wrong_clock: ['ExpiredProviderToken'],
  too_fast: ['TooManyProviderTokenUpdates', 'TooManyRequests'],
  vendor_trouble: ['IdleTimeout', 'InternalServerError', 'ServiceUnavailable', 'Shutdown'],
} as const satisfies ReasonKinds
