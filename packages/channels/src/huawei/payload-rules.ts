import type { Badge, Message } from '@herald/domain'
import type { Unsupported } from '../channel.ts'

/** Bytes of a request beside its tokens, in both versions. */
export const mostBytes = 4096
export const mostTtl = 15 * 86_400
/** Huawei names no least value; one second is as close to "only if reachable now" as it surely takes. */
export const leastTtl = 1

export const noText: Unsupported = { unsupported: 'Huawei needs a title or a body to show' }
export const tooLarge: Unsupported = {
  unsupported: `the message is over Huawei's ${mostBytes} bytes even with its texts cut`,
}

/** The picture Huawei can show: https only. Anything else attached travels in the data. */
export function pictureOf(message: Message): string | undefined {
  return message.type === 'image' && /^https:\/\//i.test(message.attachmentUrl ?? '')
    ? message.attachmentUrl
    : undefined
}

/** Adding takes 1 to 99, setting 0 to 99. "+0" is no badge at all: an empty badge object would add one. */
export function clampBadge(badge: Badge): Badge | undefined {
  if (badge.kind === 'add' && badge.count < 1) return undefined
  return { kind: badge.kind, count: Math.min(badge.count, 99) }
}

/** A sound's bare name without folder; undefined for the system's own sound. */
export function soundName(sound: string | undefined): string | undefined {
  const name = sound?.replace(/^\/?raw\//, '')
  return name && name !== 'default' ? name : undefined
}
