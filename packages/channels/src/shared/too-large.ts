import type { Outcome } from '@herald/domain'
import { isUnsupported, type Task, type Unsupported } from '../channel.ts'

/** HTTP statuses of a request that is too large: its body, its address, its headers. */
export function isTooLarge(status: number): boolean {
  return status === 413 || status === 414 || status === 431
}

/** Whether the recipients were refused because the request with all of them was too large. A smaller one may be accepted. */
export function wasTooLarge(outcome: Outcome): boolean {
  return 'reason' in outcome && /\.http_(413|414|431)$/.test(outcome.reason.code)
}

export function halvesOf<T>(list: readonly T[]): [T[], T[]] {
  const middle = Math.ceil(list.length / 2)
  return [list.slice(0, middle), list.slice(middle)]
}

/**
 * For a request that was too large with all items: sends to each half. `send` returns the outcome if the request is too large for the
 * smallest number of items; then it is the message that is too large, and the rest gets this outcome without a call.
 */
export async function sendHalves<T>(
  list: readonly T[],
  send: (half: readonly T[]) => Promise<Outcome | undefined>,
  report: (item: T, outcome: Outcome) => void,
): Promise<Outcome | undefined> {
  let refusal: Outcome | undefined
  for (const half of halvesOf(list)) {
    if (refusal) for (const item of half) report(item, refusal)
    else refusal = await send(half)
  }
  return refusal
}

/**
 * The last step of making room, after the picture's address is gone and the texts are cut: a notification that still does not fit is
 * sent without `ext`. A message without a notification is its data, so it is not sent without.
 */
export function leavingOutExt<Settings, Payload>(
  map: (task: Task, settings: Settings) => Payload | Unsupported,
): (task: Task, settings: Settings) => Payload | Unsupported {
  return (task, settings) => {
    const whole = map(task, settings)
    const { message } = task
    if (!isUnsupported(whole) || !whole.tooLarge || message.type === 'cmd' || message.ext === undefined)
      return whole
    const without = map({ ...task, message: { ...message, ext: undefined } }, settings)
    return isUnsupported(without) ? whole : without
  }
}
