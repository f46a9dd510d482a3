import type { Channel, Lane, Message, MessageClass, SequenceWord, Strategy } from '@herald/domain'
import { publicName } from '@herald/domain'
import { type PushTokens, type TokenRow, tokenColumns, tokenKeySql } from '../devices/push-tokens.ts'
import { countersSql, memberSql } from '../ledger/bundled-tasks.ts'
import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import { fields } from '../store/statement.ts'
import { inScopeSql, type TaskScope } from './tasks.ts'

/** The audience of a task as it can be sent again. */
export type AskedAudience =
  | { kind: 'all' }
  | { kind: 'tag'; tags: string[] }
  | { kind: 'alias'; aliases: string[] }
  | { kind: 'user_id'; userIds: string[] }
  | { kind: 'push_token'; pushTokens: string[] }
  | { kind: 'activity'; activities: string[] }

/** What a caller asked for. Settings that it left out have the values that were used. */
export type AskedTask = {
  createdAt: Date
  /** Only devices of this group were recipients. */
  groupId: number | null
  /** Who sent it and from where; null for tasks of a release that did not record it. */
  actor: string | null
  address: string | null
  audience: AskedAudience
  /** Push tokens of the audience that belong to no device any more: only their hashes are stored. */
  tokensLost: number
  strategy: Strategy
  sequence: SequenceWord[]
  message: Message
  messageClass: MessageClass | null
  /** Null: Herald chose it by the size of the audience. */
  lane: Lane | null
  speed: number | null
  ttl: number
  campaign: string | null
  /** The task has events of its devices. */
  events: boolean
}

type StoredAudience = Exclude<AskedAudience, { kind: 'push_token' }> | StoredTokens
type StoredTokens =
  | { kind: 'push_token'; pushTokens: string[] }
  | { kind: 'push_token_hash'; hashes: string[] }
type StoredTask = Omit<AskedTask, 'audience' | 'tokensLost'> & { audience: StoredAudience }

const columns = fields<StoredTask>({
  createdAt: 't.created_at',
  groupId: 't.group_id',
  actor: 't.actor',
  address: 't.address',
  audience: 't.audience',
  strategy: 't.strategy',
  sequence: 't.sequence',
  message: 't.message',
  messageClass: 't.message_class',
  lane: 'CASE WHEN t.lane_fixed THEN t.lane END',
  speed: 't.speed',
  ttl: 't.ttl',
  campaign: 't.campaign',
  events: 't.events = 2',
})

/** Undefined if the task is unknown. */
export async function taskRequest(
  db: Database,
  tokens: PushTokens,
  scope: TaskScope,
  id: number | bigint,
): Promise<AskedTask | undefined> {
  const [row] = await runWithin(
    db.pool,
    daysOf([id]),
    'task-request',
    `SELECT ${columns.sql} FROM task t WHERE t.id = $1 AND ${inDays('t.id')} AND ${inScopeSql('t', '$2', '$3')}`,
    [String(id), scope.appId, scope.groupId ?? null],
  )
  if (!row) return undefined
  const { audience, ...task } = columns.read(row)
  if (audience.kind !== 'push_token_hash') return { ...task, audience, tokensLost: 0 }
  const pushTokens = await tokensWith(db, tokens, scope.appId, audience.hashes)
  return {
    ...task,
    audience: { kind: 'push_token', pushTokens },
    tokensLost: audience.hashes.length - pushTokens.length,
  }
}

async function tokensWith(
  db: Database,
  tokens: PushTokens,
  appId: string,
  hashes: readonly string[],
): Promise<string[]> {
  const { rows } = await db.pool.query<TokenRow>(
    `SELECT ${tokenColumns('d')} FROM unnest($2::text[]) WITH ORDINALITY AS r (value, n) JOIN device d ON ${tokenKeySql('d')} = r.value::bytea
     WHERE d.app_id = $1 ORDER BY r.n`,
    [appId, hashes],
  )
  return rows.flatMap((row) => tokens.tokenOf(row) ?? [])
}

export type ChannelCounters = {
  /** Public name. */
  channel: string
  target: number
  sent: number
  received: number
  clicked: number
  failed: number
  moved: number
  expired: number
  cancelled: number
  pending: number
}

/** All counters by channel, those with most targets first. Undefined if the task is unknown. */
export async function taskChannels(
  db: Database,
  scope: TaskScope,
  id: number | bigint,
): Promise<ChannelCounters[] | undefined> {
  const kinds = ['target', 'sent', 'received', 'clicked', 'failed', 'moved', 'expired', 'cancelled'] as const
  const rows = await runWithin<[Channel | null, ...number[]]>(
    db.pool,
    daysOf([id]),
    'task-channels',
    `SELECT c.channel, ${kinds.map((kind) => `coalesce(sum(c.${kind}), 0)::float8`).join(', ')} FROM task t ${memberSql('t')}
     LEFT JOIN LATERAL (${countersSql('t')}) c ON true
     WHERE t.id = $1 AND ${inDays('t.id')} AND ${inScopeSql('t', '$2', '$3')} GROUP BY 1 ORDER BY 2 DESC, 1`,
    [String(id), scope.appId, scope.groupId ?? null],
  )
  if (rows.length === 0) return undefined
  return rows.flatMap(([channel, ...counts]) => {
    if (channel === null) return []
    const counters = Object.fromEntries(kinds.map((kind, i) => [kind, counts[i]!])) as Record<
      (typeof kinds)[number],
      number
    >
    const { target, sent, failed, moved, expired, cancelled } = counters
    return [
      {
        channel: publicName(channel),
        ...counters,
        pending: target - sent - failed - moved - expired - cancelled,
      },
    ]
  })
}
