import type { NewTask } from '@herald/domain'
import { Failure } from '../codes.ts'
import type { AttachmentProbe } from './attachment-probe.ts'
import { isPicture } from './message-schema.ts'

/** Whether `checkNow` can fail. */
export function dependsOnNow(
  { message }: Pick<NewTask, 'message'>,
  probe: AttachmentProbe | undefined,
): boolean {
  return message.showEnd !== undefined || pictureToProbe(message, probe) !== undefined
}

/** The checks that depend on the time or on other servers: a repeated request must not fail because of them. Throws Failure. */
export async function checkNow(
  { message }: Pick<NewTask, 'message'>,
  probe: AttachmentProbe | undefined,
): Promise<void> {
  if (message.showEnd !== undefined && message.showEnd * 1000 <= Date.now())
    throw new Failure(40002, 'message.show_end_time must be in the future.')
  const picture = pictureToProbe(message, probe)
  const problem = picture && (await probe?.(picture))
  if (problem) throw new Failure(40002, `message.attachment_url ${problem}.`)
}

/** The picture that is fetched before the push is accepted. */
function pictureToProbe(
  { attachmentUrl }: NewTask['message'],
  probe: AttachmentProbe | undefined,
): string | undefined {
  return probe && attachmentUrl !== undefined && isPicture(attachmentUrl) ? attachmentUrl : undefined
}
