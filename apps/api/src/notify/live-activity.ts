import type { Audience } from '@herald/domain'
import type { z } from 'zod'
import type { MessageFields } from './message-schema.ts'

type Body = {
  audience?: Audience
  setting?: { distribution_strategy?: string }
  message?: MessageFields
}

/** Refuses an audience or a strategy that does not fit `message.ios.live_activity`. Calls other than notify may leave one of them out. */
export function checkLiveActivity({ audience, setting, message }: Body, context: z.RefinementCtx): void {
  if (!audience || !message) return
  const refuse = (path: string[], text: string) => context.addIssue({ code: 'custom', path, message: text })
  const event = message.ios?.live_activity?.event
  const isActivity = audience.kind === 'activity'
  if (event === undefined) {
    if (isActivity) refuse(['audience', 'activity'], 'requires message.ios.live_activity')
    return
  }
  if (event === 'start' && isActivity)
    refuse(['audience', 'activity'], 'cannot be used if the event of message.ios.live_activity is start')
  if (event !== 'start' && !isActivity)
    refuse(['audience'], `must have the key activity if the event of message.ios.live_activity is ${event}`)
  const strategy = setting?.distribution_strategy
  if (strategy !== undefined && strategy !== 'ospush_only')
    refuse(
      ['setting', 'distribution_strategy'],
      'must be ospush_only, or blank, if message.ios.live_activity is set',
    )
}
