import type { Message } from '@herald/domain'

/** The picture of a message, for vendors that show https only. Anything else attached travels in the data. */
export function httpsPicture({ type, attachmentUrl }: Message): string | undefined {
  return type === 'image' && /^https:\/\//i.test(attachmentUrl ?? '') ? attachmentUrl : undefined
}
