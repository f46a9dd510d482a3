import { addAudit, type By } from '../ledger/audit-rows.ts'
import type { Database } from '../store/database.ts'
import { daysFrom, inDays, searchWithin } from '../store/days.ts'
import type { Sealer } from '../store/seal.ts'
import { inTransaction, type Runner } from '../store/statement.ts'
import type { Position } from './position.ts'
import { boundTo } from './webhook-work.ts'

export const MAX_WEBHOOKS = 20

export type WebhookSettings = { name: string; url: string; events: string[]; campaign?: string }

export type WebhookSave = WebhookSettings & {
  /** Changes this one; otherwise the one of this name, if there is one. */
  webhookId?: number
  /** For a new webhook, or one whose secret is replaced. */
  newSecret: string
  rotateSecret?: boolean
}

export type SavedWebhook = { webhookId: number; created: boolean; secret?: string }

type Known = {
  id: number
  name: string
  events: string[]
  campaign: string | null
  sealed: Buffer
}

/**
 * Adds or changes a webhook, which gets the events from now on, and those that wait for it already. A change wakes it if it rests. The
 * secret is returned only here.
 */
export async function saveWebhook(
  db: Database,
  sealer: Sealer,
  appId: string,
  save: WebhookSave,
  by: By,
): Promise<SavedWebhook | 'missing' | 'taken' | 'too many'> {
  return inTransaction(db, async (runner) => {
    const last = await lockHead(runner)
    const { rows } = await runner.query<Known>(
      'SELECT id, name, events, campaign, sealed FROM webhook WHERE app_id = $1 FOR UPDATE',
      [appId],
    )
    const named = rows.find(({ name }) => name === save.name)
    const known = save.webhookId === undefined ? named : rows.find(({ id }) => id === save.webhookId)
    if (!known && save.webhookId !== undefined) return 'missing'
    if (known && named && named.id !== known.id) return 'taken'
    if (!known && rows.length >= MAX_WEBHOOKS) return 'too many'
    const result = known
      ? await change(runner, sealer, appId, known, save, last)
      : await add(runner, sealer, appId, save, last)
    await addAudit(runner, {
      appId,
      by,
      action: 'webhook.save',
      detail: {
        webhook_id: result.webhookId,
        name: save.name,
        host: new URL(save.url).host,
        events: save.events.join(' '),
        campaign: save.campaign ?? null,
        secret: result.secret !== undefined,
      },
    })
    return result
  })
}

/** Nothing is added to the stream until the transaction ends: what follows sees exactly what a webhook has to be woken for. */
async function lockHead(runner: Runner): Promise<number> {
  const { rows } = await runner.query<{ last: number }>('SELECT last FROM event_head FOR UPDATE')
  return rows[0]!.last
}

async function add(
  runner: Runner,
  sealer: Sealer,
  appId: string,
  { name, url, events, campaign, newSecret }: WebhookSave,
  last: number,
): Promise<SavedWebhook> {
  const { rows } = await runner.query<{ id: number }>(
    `INSERT INTO webhook (app_id, name, url, events, campaign, sealed, cursor) VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id`,
    [appId, name, url, events, campaign ?? null, sealer.seal(newSecret, boundTo(appId, name)), last + 1],
  )
  return { webhookId: rows[0]!.id, created: true, secret: newSecret }
}

async function change(
  runner: Runner,
  sealer: Sealer,
  appId: string,
  known: Known,
  { name, url, events, campaign, newSecret, rotateSecret }: WebhookSave,
  last: number,
): Promise<SavedWebhook> {
  const secret = rotateSecret ? newSecret : undefined
  const isSame = [...known.events].sort().join() === [...events].sort().join()
  const wantsOthers = !isSame || known.campaign !== (campaign ?? null)
  const plain =
    secret ?? (name === known.name ? undefined : sealer.open(known.sealed, boundTo(appId, known.name)))
  // Nothing waits: events of kinds that it did not want are not sent later.
  const skips = '$7 AND head < cursor'
  const sealed = plain === undefined ? known.sealed : sealer.seal(plain, boundTo(appId, name))
  await runner.query(
    `UPDATE webhook SET name = $2, url = $3, events = $4, campaign = $5, sealed = $6, updated_at = now(), ${wakeSql},
       head = CASE WHEN $7 THEN $8 ELSE head END, cursor = CASE WHEN ${skips} THEN $8 + 1 ELSE cursor END,
       cursor_part = CASE WHEN ${skips} THEN 0 ELSE cursor_part END, ${restartSql('$7')}
     WHERE id = $1`,
    [known.id, name, url, events, campaign ?? null, sealed, wantsOthers, last],
  )
  return { webhookId: known.id, created: false, secret }
}

/** Ends the claim of a courier, too: it would go on with the former settings. */
const wakeSql = `attempts = 0, failing_since = NULL, rested_at = NULL, rest_reason = NULL, next_at = now(), lease_until = NULL, worker = NULL`
/** From here on the same place has other entries, so requests get other ids. */
const restartSql = (condition: string) =>
  `epoch = epoch + CASE WHEN ${condition} THEN 1 ELSE 0 END, sending_id = CASE WHEN NOT ${condition} THEN sending_id END,
   sending_part = CASE WHEN NOT ${condition} THEN sending_part END`

export async function removeWebhook(
  db: Database,
  appId: string,
  webhookId: number,
  by: By,
): Promise<boolean> {
  return inTransaction(db, async (runner) => {
    const { rows } = await runner.query<{ name: string }>(
      'DELETE FROM webhook WHERE id = $1 AND app_id = $2 RETURNING name',
      [webhookId, appId],
    )
    if (!rows[0]) return false
    const detail = { webhook_id: webhookId, name: rows[0].name }
    await addAudit(runner, { appId, by, action: 'webhook.remove', detail })
    return true
  })
}

/** Sends the events from a position once more, or skips those before it. Wakes the webhook if it rests. */
export async function replayWebhook(
  db: Database,
  appId: string,
  webhookId: number,
  from: Position,
  by: By,
): Promise<boolean> {
  return inTransaction(db, async (runner) => {
    const last = await lockHead(runner)
    const start = from.event > last ? { event: last + 1, part: 0 } : from
    const { rowCount } = await runner.query(
      `UPDATE webhook SET cursor = $3, cursor_part = $4, head = $5, ${wakeSql}, ${restartSql('true')}
       WHERE id = $1 AND app_id = $2`,
      [webhookId, appId, start.event, start.part, last],
    )
    if (rowCount !== 1) return false
    const detail = { webhook_id: webhookId, from: start.event }
    await addAudit(runner, { appId, by, action: 'webhook.replay', detail })
    return true
  })
}

/** Notes the answer to a test; one that succeeded wakes the webhook. */
export async function noteTest(
  db: Database,
  appId: string,
  webhookId: number,
  answer: { ok: boolean; status?: number; error?: string },
  by: By,
): Promise<void> {
  await inTransaction(db, async (runner) => {
    await runner.query(
      `UPDATE webhook SET last_status = $3, last_error = $4, last_answer_at = now() WHERE id = $1 AND app_id = $2`,
      [webhookId, appId, answer.status ?? null, answer.error ?? null],
    )
    // One that is being sent for keeps its claim.
    if (answer.ok)
      await runner.query(
        `UPDATE webhook SET ${wakeSql} WHERE id = $1 AND app_id = $2 AND (attempts > 0 OR rested_at IS NOT NULL)`,
        [webhookId, appId],
      )
    const detail = { webhook_id: webhookId, ok: answer.ok, status: answer.status ?? null }
    await addAudit(runner, { appId, by, action: 'webhook.test', detail })
  })
}

export async function webhookTarget(
  db: Database,
  sealer: Sealer,
  appId: string,
  webhookId: number,
): Promise<{ url: string; secret: string } | undefined> {
  const { rows } = await db.pool.query<{ name: string; url: string; sealed: Buffer }>(
    'SELECT name, url, sealed FROM webhook WHERE id = $1 AND app_id = $2',
    [webhookId, appId],
  )
  const row = rows[0]
  return row && { url: row.url, secret: sealer.open(row.sealed, boundTo(appId, row.name)) }
}

export type ListedWebhook = {
  webhookId: number
  name: string
  url: string
  events: string[]
  campaign: string | null
  createdAt: Date
  updatedAt: Date
  failingSince: Date | null
  restedAt: Date | null
  restReason: string | null
  /** When the next request is made, if the last one failed. */
  nextAt: Date | null
  lastStatus: number | null
  lastError: string | null
  lastAnswerAt: Date | null
  sent: number
  /** Entries that were not sent, and since when the oldest waits. */
  backlog: number
  backlogExact: boolean
  backlogSince: Date | null
}

/** Rows of the stream that are read to count the backlog of a webhook. */
const COUNTED_ROWS = 2000

export async function listWebhooks(db: Database, appId: string): Promise<ListedWebhook[]> {
  const { rows } = await db.pool.query<ListedWebhook & { head: number; cursor: number; cursorPart: number }>(
    `SELECT id AS "webhookId", name, url, events, campaign, created_at AS "createdAt", updated_at AS "updatedAt",
       failing_since AS "failingSince", rested_at AS "restedAt", rest_reason AS "restReason", CASE WHEN attempts > 0 AND rested_at IS NULL THEN next_at END AS "nextAt",
       last_status AS "lastStatus", last_error AS "lastError", last_answer_at AS "lastAnswerAt", sent, head, cursor, cursor_part AS "cursorPart"
     FROM webhook WHERE app_id = $1 ORDER BY id`,
    [appId],
  )
  return Promise.all(
    rows.map(async ({ head, cursor, cursorPart, ...webhook }) => ({
      ...webhook,
      ...(head < cursor
        ? { backlog: 0, backlogExact: true, backlogSince: null }
        : await backlogOf(db, appId, webhook, { event: cursor, part: cursorPart })),
    })),
  )
}

async function backlogOf(
  db: Database,
  appId: string,
  { events, campaign }: Pick<ListedWebhook, 'events' | 'campaign'>,
  { event, part }: Position,
): Promise<Pick<ListedWebhook, 'backlog' | 'backlogExact' | 'backlogSince'>> {
  const [row] = await searchWithin<[number, Date | null, number, boolean]>(
    db,
    daysFrom(event),
    'webhook-backlog',
    `SELECT coalesce(sum(e.entries) FILTER (WHERE wanted), 0)::float8, min(e.at) FILTER (WHERE wanted), count(*), coalesce(bool_or(wanted AND id = $2), false)
     FROM (
       SELECT id, at, entries, kind = ANY ($3) AND ($4::text IS NULL OR campaign = $4) AS wanted FROM event
       WHERE app_id = $1 AND id >= $2 AND ${inDays('id')} ORDER BY id LIMIT ${COUNTED_ROWS}
     ) e`,
    [appId, event, events, campaign],
  )
  const [entries, since, scanned, isCursor] = row!
  return {
    backlog: entries - (isCursor ? part : 0),
    backlogExact: scanned < COUNTED_ROWS,
    backlogSince: since,
  }
}
