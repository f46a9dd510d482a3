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
 * a request is in flight, or its result is noted, the next one is composed.
 */
export async function deliver(deps: DeliverDeps, work: WebhookWork, isOver: () => boolean): Promise<void> {
  const { db } = deps
  const composer = createComposer(db, work)
  const poster = deps.newPoster()
  let ahead: Promise<Composed | undefined> | undefined
  const composeAhead = () => {
    ahead ??= composer.next()
    // Awaited later, or not at all.
    ahead.catch(() => {})
  }
  try {
    const repeated = work.sending && (await composer.next(work.sending))
    let current = repeated ?? (await composer.next())
    if (current && !repeated && !(await noteRequest(db, work, current))) return
    while (current) {
      // One that fails will rather fail again, and then what was composed is of no use.
      if (work.attempts === 0) composeAhead()
      const judgement = await send(deps, poster, work, current)
      if (judgement.kind === 'failed') return await fail(deps, work, judgement)
      work.attempts = 0
      // If the next one cannot be composed now, the result of this one is noted anyway.
      let following: Composed | undefined
      // Asked once: if what was composed ahead is not sent now, the turn ends here and leaves it to the next one.
      const over = isOver()
      if (!over) {
        composeAhead()
        following = await ahead!.catch(() => undefined)
        ahead = undefined
        if (following) composeAhead()
      }
      const next = following ?? { start: current.end }
      if (!(await noteRequest(db, work, next, { entries: current.entries, status: judgement.status }))) return
      if (over) return await releaseWebhook(db, work)
      current = following
    }
    await releaseWebhook(db, work, composer.position())
  } finally {
    poster.close()
    // No statement outlives the turn.
    await ahead?.catch(() => {})
  }
}

async function send(
  { meters }: DeliverDeps,
  poster: WebhookPoster,
  work: WebhookWork,
  { id, body, entries }: Composed,
): Promise<Judgement> {
  if (work.secret === undefined)
    return judgeAnswer({ error: 'its secret is sealed with a key that is not configured' }, work)
  const began = performance.now()
  const answer = await poster.post({ url: work.url, secret: work.secret, id, body })
  meters.answered(answer.status, (performance.now() - began) / 1000)
  const judgement = judgeAnswer(answer, work)
  if (judgement.kind === 'sent') meters.sent(entries)
  return judgement
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
    log.error(about, `a webhook is suspended: ${rest.reason}; save it, test it or replay to resume it`)
  } else if (work.attempts === 0)
    log.warn(about, 'a request to a webhook failed; it is repeated for 72 hours')
}
