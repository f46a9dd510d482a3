import { parseVerbatim } from '@herald/domain'
import type { RefusedPart } from './classify.ts'
import { maxBytes } from './payload-rules.ts'
import { sizeOfV2, type V2Body } from './payload-v2.ts'
import { sizeOfV3, type V3Body, type V3Notification } from './payload-v3.ts'

/** The same message without a part that Huawei refused; undefined if the message does not have it or cannot be sent without it. */
export type Reductions<Body> = Readonly<Record<RefusedPart, (body: Body) => Body | undefined>>

export const v2Reductions: Reductions<V2Body> = {
  high({ message, ...rest }) {
    const { android } = message
    if (android.urgency !== 'HIGH') return undefined
    return { ...rest, message: { ...message, android: { ...android, urgency: 'NORMAL' } } }
  },
  receipts({ message, ...rest }) {
    const { receipt_id, ...android } = message.android
    return receipt_id === undefined ? undefined : { ...rest, message: { ...message, android } }
  },
  picture({ message, ...rest }) {
    const shown = message.android.notification
    if (shown?.image === undefined) return undefined
    const { image, ...notification } = shown
    const android = { ...message.android, notification }
    const data = JSON.stringify({ attachment_url: image, ...(parseVerbatim(message.data) as object) })
    const moved = { ...rest, message: { data, android } }
    return sizeOfV2(moved) <= maxBytes ? moved : { ...rest, message: { ...message, android } }
  },
  test: () => undefined,
  'push type': () => undefined,
}

export const v3Reductions: Reductions<V3Body> = {
  high: () => undefined,
  receipts({ request, asAlert, ...rest }) {
    const { receiptId, ...pushOptions } = request.pushOptions
    if (receiptId === undefined) return undefined
    return {
      ...rest,
      request: { ...request, pushOptions },
      asAlert: asAlert && v3Reductions.receipts(asAlert),
    }
  },
  picture({ request, asAlert, ...rest }) {
    if (!('notification' in request.payload)) return undefined
    const { image, ...notification } = request.payload.notification
    if (image === undefined) return undefined
    const { clickAction } = notification
    const data = { attachment_url: image, ...clickAction.data }
    const { extraData } = request.payload
    const reduced = (shown: V3Notification): V3Body => ({
      ...rest,
      request: { ...request, payload: { notification: shown, extraData } },
      asAlert: asAlert && v3Reductions.picture(asAlert),
    })
    const moved = reduced({ ...notification, clickAction: { ...clickAction, data } })
    return sizeOfV3(moved) <= maxBytes ? moved : reduced(notification)
  },
  test: () => undefined,
  'push type': ({ asAlert }) => asAlert,
}

/** For requests that cannot do without any part. */
export const noReductions: Readonly<Record<RefusedPart, () => undefined>> = {
  high: () => undefined,
  receipts: () => undefined,
  picture: () => undefined,
  test: () => undefined,
  'push type': () => undefined,
}
