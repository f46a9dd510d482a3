import { ownReasons, type Reason } from './reason-codes.ts'

/** Results that end a recipient without a vendor's answer: its fate and the reason, in the order in which reasons are listed. */
export const endings = {
  /** The device got another user after it was planned. */
  ownerChanged: ['expired', ownReasons.owner_changed],
  /** The device was removed after it was planned. */
  removed: ['expired', ownReasons.device_removed],
  /** The device was disabled after it was planned. */
  disabled: ['expired', ownReasons.device_disabled],
  /** A newer update of the same Live Activity was sent. */
  superseded: ['expired', ownReasons.newer_activity_update],
  /** The device acknowledged on the native channel before this channel sent. */
  acknowledged: ['cancelled', ownReasons.acknowledged_on_native],
} as const satisfies Record<string, readonly ['expired' | 'cancelled', Reason]>

export type Ending = keyof typeof endings

export const endingKinds = Object.keys(endings) as Ending[]
