import { noteFailure, noteRequest, releaseWebhook, type WebhookWork } from '@herald/db/events'
import type { Database } from '@herald/db/store'
import type { WebhookPoster } from '@herald/outbound'
import type { Logger } from '@herald/telemetry'
import { type Composed, createComposer } from './compose.ts'
import { type Judgement, judgeAnswer } from './judge-answer.ts'
import type { CourierMeters } from './meters.ts'

export type DeliverDeps = {
  db: Database
  log: Logger
  meters: CourierMeters
  newPoster(): WebhookPoster
}

/**
 * Sends what a claimed webhook has waiting, one request after another, until nothing is left, a request fails, or `isOver` returns true. While
 * a request is in flight, the next one is composed.
 */
export async function deliver(deps: DeliverDeps, work: WebhookWork, isOver: () => boolean): Promise<void> {
  const { db } = deps
  const composer = createComposer(db, work)
  const poster = deps.newPoster()
  try {
    const repeated = work.sending && (await composer.next(work.sending))
    let current = repeated ?? (await composer.next())
    if (current && !repeated && !(await noteRequest(db, work, current))) return
    while (current) {
      const { ahead, judgement } = await send(deps, poster, work, current, () => composer.next())
      if (judgement.kind === 'failed') return await fail(deps, work, judgement)
      work.attempts = 0
      // If the next one cannot be composed now, the result of this one is noted all the same.
      const following: Composed | undefined = isOver() ? undefined : await ahead().catch(() => undefined)
      const next = following ?? { start: current.end }
      if (!(await noteRequest(db, work, next, { entries: current.entries, status: judgement.status }))) return
      if (!following && isOver()) return await releaseWebhook(db, work)
      current = following
    }
    await releaseWebhook(db, work, composer.position())
  } finally {
    poster.close()
  }
}

/** Never rejects: an error of the database while the next request is composed must not hide the answer to this one. */
async function send(
  { meters }: DeliverDeps,
  poster: WebhookPoster,
  work: WebhookWork,
  current: Composed,
  compose: () => Promise<Composed | undefined>,
): Promise<{ ahead: () => Promise<Composed | undefined>; judgement: Judgement }> {
  if (work.secret === undefined) {
    const error = 'its secret is sealed with a key that is not configured'
    return { ahead: compose, judgement: judgeAnswer({ error }, work) }
  }
  const began = performance.now()
  const post = poster.post({ url: work.url, secret: work.secret, id: current.id, body: current.body })
  // One that fails will rather fail again, and then what was composed is of no use.
  const composed = work.attempts > 0 ? undefined : compose()
  composed?.catch(() => {})
  const answer = await post
  meters.answered(answer.status, (performance.now() - began) / 1000)
  const judgement = judgeAnswer(answer, work)
  if (judgement.kind === 'sent') meters.sent(current.entries)
  else await composed?.catch(() => {})
  return { ahead: () => composed ?? compose(), judgement }
}

async function fail(
  { db, log, meters }: DeliverDeps,
  work: WebhookWork,
  judgement: Extract<Judgement, { kind: 'failed' }>,
): Promise<void> {
  const { status, error, pauseSeconds, rest } = judgement
  const noted = await noteFailure(db, work, { status, error, pauseSeconds, rest: rest?.reason })
  if (!noted) return
  const about = { webhook: work.webhookId, app: work.appId, status, error }
  if (rest) {
    meters.rested(rest.cause)
    log.error(about, `a webhook rests: ${rest.reason}; save it, test it or replay to wake it`)
  } else if (work.attempts === 0)
    log.warn(about, 'a request to a webhook failed; it is repeated for 72 hours')
}
