import type { ReasonKinds } from '../card.ts'

/** What the codes in reasons of this vendor mean to a reader. `a.b`: the code `a` with the detail `b`. */
export const reasonKinds = {
  token_dead: [
    'UNREGISTERED',
    'UNREGISTERED_FID',
    'SENDER_ID_MISMATCH',
    'INVALID_ARGUMENT.message.token',
    'INVALID_ARGUMENT.APNs_410',
    'INVALID_ARGUMENT.APNs_Unregistered',
  ],
  wrong_app: ['NOT_FOUND'],
  message_refused: ['INVALID_ARGUMENT'],
  too_large: ['INVALID_ARGUMENT.too_large'],
  credentials_refused: ['PERMISSION_DENIED', 'UNAUTHENTICATED', 'invalid_grant', 'invalid_scope'],
  permission_missing: ['THIRD_PARTY_AUTH_ERROR', 'APNS_AUTH_ERROR'],
  too_fast: ['QUOTA_EXCEEDED', 'RESOURCE_EXHAUSTED'],
  vendor_trouble: ['CANCELLED', 'INTERNAL', 'UNAVAILABLE'],
} as const satisfies ReasonKinds
