import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Strategy, WantedEvents } from '@herald/domain'
import { addAudit, auditRow, type By } from '../ledger/audit-rows.ts'
import type { Database } from '../store/database.ts'
import { CommitInDoubt, codeOf, retrying } from '../store/errors.ts'
import { DAY_MS } from '../store/partitions.ts'
import { fields, inPrismaTransaction, inTransaction, run } from '../store/statement.ts'

export type Application = {
  appId: string
  name: string
  packageName: string
  /** Part of every admin token; raising it revokes them all. */
  tokenVersion: number
  createdAt: Date
  /** For pushes that name none; undefined: the default of the API. */
  defaultStrategy?: Strategy
  /** In seconds. */
  defaultTtl?: number
  /** Marketing messages per device, channel and day, for certificates without their own number. */
  perDevicePerDay?: number
  /** What its webhooks want, and its own calls that read events. */
  wantedEvents?: readonly WantedEvents[]
  /** The day (UTC) on which it last read events by calls. */
  eventsReadOn?: Date | null
}

export type NewApplication = { name: string; packageName: string; appId?: string; appSecret?: string }

/** The secret is returned only here; its hash is stored. If the reply to the commit is lost, it is found again by that hash. */
export async function createApplication(
  db: Database,
  application: NewApplication,
  by?: By,
): Promise<{ appId: string; appSecret: string } | 'taken'> {
  const appId = application.appId ?? randomBytes(8).toString('hex')
  const appSecret = application.appSecret ?? newSecret()
  const hash = hashOf(appSecret)
  let mayExist = false
  const insert = () =>
    inTransaction(db, async (runner) => {
      await runner.query(
        'INSERT INTO application (id, name, package_name, secret_hash) VALUES ($1, $2, $3, $4)',
        [appId, application.name, application.packageName, hash],
      )
      if (by) await addAudit(runner, { appId, by, action: 'application.create' })
    }).catch((error: unknown) => {
      if (error instanceof CommitInDoubt) mayExist = true
      throw error
    })
  try {
    await retrying(insert)
    return { appId, appSecret }
  } catch (error) {
    if (codeOf(error) !== '23505') throw error
    return mayExist && (await isStored(db, appId, hash)) ? { appId, appSecret } : 'taken'
  }
}

async function isStored(db: Database, appId: string, hash: Buffer): Promise<boolean> {
  const { rowCount } = await retrying(() =>
    db.pool.query('SELECT 1 FROM application WHERE id = $1 AND secret_hash = $2', [appId, hash]),
  )
  return rowCount === 1
}

const secrets = { secretHash: true, oldSecretHash: true, oldSecretUntil: true } as const

/** Changes what is given. The audit records both names: entries and links name an application by its id. */
export async function renameApplication(
  db: Database,
  appId: string,
  change: { name?: string; packageName?: string },
  by: By,
): Promise<'unknown' | 'taken' | 'changed'> {
  try {
    return await inTransaction(db, async (client) => {
      const { rows } = await client.query<{ name: string; former: string }>(
        `UPDATE application a SET name = coalesce($2, a.name), package_name = coalesce($3, a.package_name)
         FROM (SELECT id, name FROM application WHERE id = $1 FOR UPDATE) f WHERE a.id = f.id
         RETURNING a.name, f.name AS former`,
        [appId, change.name ?? null, change.packageName ?? null],
      )
      const [row] = rows
      if (!row) return 'unknown'
      const detail = { ...row, package_name: change.packageName ?? null }
      await addAudit(client, { appId, by, action: 'application.rename', detail })
      return 'changed'
    })
  } catch (error) {
    if (codeOf(error) === '23505') return 'taken'
    throw error
  }
}

export async function listApplications(db: Database): Promise<Application[]> {
  const rows = await db.prisma.application.findMany({ omit: secrets, orderBy: { createdAt: 'asc' } })
  return rows.map(({ id, ...row }) => ({ appId: id, ...row }))
}

export async function findApplication(db: Database, appId: string): Promise<Application | undefined> {
  const [row] = await run(db.pool, 'application', applicationSql, [appId])
  if (!row) return undefined
  const { webhooks, defaultStrategy, defaultTtl, perDevicePerDay, ...rest } = applicationFields.read(row)
  const wanted = webhooks.map(({ events, campaign }) => ({ events, campaign: campaign ?? undefined }))
  return {
    ...rest,
    defaultStrategy: defaultStrategy ?? undefined,
    defaultTtl: defaultTtl ?? undefined,
    perDevicePerDay: perDevicePerDay ?? undefined,
    wantedEvents: readsEvents(rest) ? [...wanted, { events: ['task.finished', 'task.cancelled'] }] : wanted,
  }
}

// Not by Prisma, whose query compiler every program would have to load.
const applicationFields = fields<
  Required<Omit<Application, 'defaultStrategy' | 'defaultTtl' | 'perDevicePerDay' | 'wantedEvents'>> & {
    defaultStrategy: Strategy | null
    defaultTtl: number | null
    perDevicePerDay: number | null
    webhooks: { events: WantedEvents['events']; campaign: string | null }[]
  }
>({
  appId: 'a.id',
  name: 'a.name',
  packageName: 'a.package_name',
  tokenVersion: 'a.token_version',
  createdAt: 'a.created_at',
  eventsReadOn: `a.events_read_on::timestamp AT TIME ZONE 'UTC'`,
  defaultStrategy: 's.default_strategy',
  defaultTtl: 's.default_ttl',
  perDevicePerDay: 's.per_device_per_day',
  webhooks: `(SELECT coalesce(json_agg(json_build_object('events', w.events, 'campaign', w.campaign)), '[]') FROM webhook w WHERE w.app_id = a.id)`,
})
const applicationSql = `SELECT ${applicationFields.sql} FROM application a LEFT JOIN application_setting s ON s.app_id = a.id WHERE a.id = $1`

/** How long the events of tasks are written after they were last read. */
const READER_DAYS = 30

/** Whether the application reads its events by calls, so that its tasks have events without a webhook. */
function readsEvents({ eventsReadOn }: Pick<Application, 'eventsReadOn'>): boolean {
  return eventsReadOn != null && Date.now() - eventsReadOn.getTime() < READER_DAYS * DAY_MS
}

/**
 * Records that the application reads its events by calls. One statement per day: the other processes see the change of its row. Returns
 * whether it was recorded.
 */
export async function noteEventsRead(db: Database, { appId, eventsReadOn }: Application): Promise<boolean> {
  if (eventsReadOn && Date.now() - eventsReadOn.getTime() < DAY_MS) return false
  const today = `(now() AT TIME ZONE 'UTC')::date`
  await retrying(() =>
    db.pool.query(
      `UPDATE application SET events_read_on = ${today} WHERE id = $1 AND events_read_on IS DISTINCT FROM ${today}`,
      [appId],
    ),
  )
  return true
}

/**
 * Accepts the secret, and the one before it while a rotation keeps that; undefined for others. The version is of the same row: that of a
 * cache may have ended with a rotation or revocation by another process. `until`: when the old secret ends, in Unix seconds; what it opens must
 * end then, too.
 */
export async function checkApplicationSecret(
  db: Database,
  appId: string,
  secret: string,
): Promise<{ tokenVersion: number; until?: number } | undefined> {
  const { rows } = await db.pool.query<{
    current: Buffer
    old: Buffer | null
    until: number | null
    tokenVersion: number
  }>(
    `SELECT secret_hash AS current, CASE WHEN old_secret_until > now() THEN old_secret_hash END AS old,
       floor(extract(epoch FROM old_secret_until))::float8 AS until, token_version AS "tokenVersion" FROM application WHERE id = $1`,
    [appId],
  )
  const row = rows[0]
  if (!row) return undefined
  const given = hashOf(secret)
  // Both are compared, so that the time does not tell which one it was.
  const isCurrent = timingSafeEqual(row.current, given)
  const isOld = row.old !== null && timingSafeEqual(row.old, given)
  if (isCurrent) return { tokenVersion: row.tokenVersion }
  return isOld ? { tokenVersion: row.tokenVersion, until: row.until! } : undefined
}

/**
 * Makes a new secret, and revokes admin tokens and console sessions. The secret until now stays good for `keepOldSeconds`; the one
 * before it ends. Returns undefined if the application does not exist. If the reply to the commit is lost, it is repeated with the same new
 * secret: another one would end the secret that the application's servers have.
 */
export async function renewApplicationSecret(
  db: Database,
  appId: string,
  keepOldSeconds = 0,
  by?: By,
): Promise<string | undefined> {
  const appSecret = newSecret()
  const hash = hashOf(appSecret)
  return retrying(() =>
    inTransaction(db, async (runner) => {
      const { rows } = await runner.query<{ isRenewed: boolean }>(
        'SELECT secret_hash = $2 AS "isRenewed" FROM application WHERE id = $1 FOR NO KEY UPDATE',
        [appId, hash],
      )
      if (!rows[0]) return undefined
      if (rows[0].isRenewed) return appSecret
      await runner.query(
        `UPDATE application SET secret_hash = $2, token_version = token_version + 1,
           old_secret_hash = CASE WHEN $3::int > 0 THEN secret_hash END,
           old_secret_until = CASE WHEN $3::int > 0 THEN now() + make_interval(secs => $3::int) END
         WHERE id = $1`,
        [appId, hash, keepOldSeconds],
      )
      const detail = { keep_old_seconds: keepOldSeconds }
      if (by) await addAudit(runner, { appId, by, action: 'application.secret', detail })
      return appSecret
    }),
  )
}

/** Revokes all admin tokens of the application. */
export async function revokeAdminTokens(db: Database, appId: string, by?: By): Promise<void> {
  await inPrismaTransaction(db, async (prisma) => {
    await prisma.application.update({ where: { id: appId }, data: { tokenVersion: { increment: 1 } } })
    if (by) await prisma.audit.create({ data: auditRow({ appId, by, action: 'token.revoke' }) })
  })
}

/** 256 random bits cannot be guessed from a dictionary, so a fast hash is enough. */
function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

function hashOf(secret: string): Buffer<ArrayBuffer> {
  return createHash('sha256').update(secret).digest() as Buffer<ArrayBuffer>
}
