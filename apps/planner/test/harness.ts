import { randomBytes } from 'node:crypto'
import type { ChannelAdapter } from '@herald/channels'
import { type NewCertificate, saveCertificate } from '@herald/db/certificates'
import { findImbalances, type Imbalance, subqueriesFor } from '@herald/db/readings'
import { createApplication } from '@herald/db/tenants'
import { type NewTask, type RecoveryPauses, type VendorChannel, vendorChannels } from '@herald/domain'
import { type Acceptor, createAcceptor } from '@herald/plan'
import { openContext, type Running } from '@herald/program'
import { readSettings } from '@herald/settings'
import { createLogger, createRegistry } from '@herald/telemetry'
import { until } from '@herald/testkit'
import { testDatabase } from '@herald/testkit/database'
import { sampleMessage } from '@herald/testkit/sample-message'
import { stubChannel } from '@herald/testkit/stub-channel'
import { type StubEntry, startStubServer } from '@herald/testkit/stub-server'
import { channelWorker } from '@herald/worker'
import { planner } from '../src/index.ts'
import { newPageTurns } from '../src/plan-round.ts'
import { createPostponed } from '../src/postponed.ts'

export const plainMessage = sampleMessage()

export type DeviceSeed = {
  platform?: 'ios' | 'android'
  /** Token by channel; later entries are registered later. */
  tokens?: Partial<Record<VendorChannel, string>>
  tag?: string
  alias?: string
  userId?: number
}

/** Runs the whole pipeline in one process on the stub vendor: acceptor, planner, one worker per channel. */
export async function startHarness(
  options: {
    queueUrl?: string
    workers?: boolean
    pauses?: RecoveryPauses
    /** Puts a pooler between the programs and the database. */
    pooler?: (databaseUrl: string) => Promise<{ url: string; stop(): Promise<void> }>
    settings?: Record<string, string>
    /** Instead of the stub vendor. */
    adapters?: Partial<Record<VendorChannel, ChannelAdapter>>
    stub?: { latencyMs?: number; onePerDevice?: boolean }
  } = {},
) {
  const database = await testDatabase()
  const pooler = await options.pooler?.(database.url)
  const stub = await startStubServer(options.stub)
  const adapters: Partial<Record<VendorChannel, ChannelAdapter>> =
    options.adapters ??
    Object.fromEntries(
      vendorChannels.map((name) => [
        name,
        stubChannel(name, {
          url: stub.url,
          absoluteBadge: name === 'apns',
          onePerDevice: options.stub?.onePerDevice,
        }),
      ]),
    )
  const { settings } = readSettings({
    DATABASE_URL: pooler?.url ?? database.url,
    QUEUE_URL: options.queueUrl ?? database.url,
    HERALD_MASTER_KEY: randomBytes(32).toString('hex'),
    // A call that the stub answers must not end by its time limit on a slow machine: it would be repeated.
    HERALD_SEND_TIMEOUT_SECONDS: '120',
    ...options.settings,
  })
  const opened = await openContext({
    settings,
    log: createLogger({ name: 'harness', level: 'error' }),
    registry: createRegistry('harness'),
    connections: 15,
    // Five seconds are too few for a process that gets no CPU for seconds.
    waitMs: 120_000,
    certificateAdapters: adapters,
  })
  const context = { ...opened, pauses: options.pauses }
  const { db, sealer } = context
  const running: Running[] = []
  const acceptor: Acceptor = createAcceptor({ ...context, onQueueFailure: () => {} })

  /** `credentials` replaces the stub's, by channel. */
  async function addApplication(
    name: string,
    extra: Record<string, unknown> = {},
    credentials: Partial<Record<VendorChannel, Partial<NewCertificate>>> = {},
  ): Promise<string> {
    const made = await createApplication(db, { name, packageName: 'com.example' })
    if (made === 'taken') throw new Error('taken')
    for (const channel of vendorChannels) {
      await saveCertificate(db, sealer, {
        application: made.appId,
        channel,
        environment: 'production',
        name: channel,
        appId: 'a',
        appKey: 'k',
        appSecret: 's',
        certificate: '',
        extra,
        ...credentials[channel],
      })
    }
    return made.appId
  }

  async function addDevices(appId: string, seeds: DeviceSeed[]): Promise<number[]> {
    const ids: number[] = []
    for (let at = 0; at < seeds.length; at += 5000) {
      const part = seeds.slice(at, at + 5000)
      const { rows } = await db.pool.query<{ id: number }>(
        `INSERT INTO device (app_id, guid, push_token, platform, alias, user_id, moved_at)
         SELECT $1, gen_random_uuid()::text, gen_random_uuid()::text, d.platform, d.alias, d.user_id, now() - interval '1 hour'
         FROM unnest($2::text[], $3::text[], $4::bigint[]) WITH ORDINALITY AS d (platform, alias, user_id, n) ORDER BY d.n RETURNING id`,
        [
          appId,
          part.map((d) => d.platform ?? 'android'),
          part.map((d) => d.alias ?? null),
          part.map((d) => d.userId ?? null),
        ],
      )
      const bindings = part.flatMap((seed, i) =>
        Object.entries(seed.tokens ?? {}).map(([channel, token], n) => ({
          id: rows[i]!.id,
          channel,
          token,
          n,
        })),
      )
      await db.pool.query(
        `INSERT INTO binding (device_id, channel, app_id, token, registered_at)
         SELECT b.id, b.channel, $1, b.token, now() - interval '1 hour' + b.n * interval '1 second'
         FROM unnest($2::bigint[], $3::text[], $4::text[], $5::int[]) AS b (id, channel, token, n)`,
        [
          appId,
          bindings.map((b) => b.id),
          bindings.map((b) => b.channel),
          bindings.map((b) => b.token),
          bindings.map((b) => b.n),
        ],
      )
      const tagged = part.flatMap((seed, i) => (seed.tag ? [{ id: rows[i]!.id, tag: seed.tag }] : []))
      await db.pool.query(
        'INSERT INTO tag (app_id, name) SELECT $1, name FROM unnest($2::text[]) name ON CONFLICT DO NOTHING',
        [appId, tagged.map((t) => t.tag)],
      )
      await db.pool.query(
        `INSERT INTO device_tag (tag_id, device_id) SELECT tag.id, t.id FROM unnest($2::text[], $3::bigint[]) AS t (tag, id)
           JOIN tag ON tag.app_id = $1 AND tag.name = t.tag`,
        [appId, tagged.map((t) => t.tag), tagged.map((t) => t.id)],
      )
      ids.push(...rows.map((row) => row.id))
    }
    return ids
  }

  // The two statements below have names, so that they are prepared: specs repeat them, and planning them takes longer than running them.
  const counters = async (taskId: number) => {
    const { name, counters } = subqueriesFor(taskId)
    const { rows } = await db.pool.query({
      name: `counters-in-spec@${name}`,
      text: `SELECT channel, target, sent, received, failed, moved, expired, cancelled FROM ${counters} c WHERE task_id = $1`,
      values: [taskId],
    })
    return Object.fromEntries(rows.map(({ channel, ...counts }) => [channel, nonZero(counts)]))
  }

  const stateOf = async (taskId: number): Promise<string> => {
    const { name, states } = subqueriesFor(taskId)
    const { rows } = await db.pool.query({
      name: `state-in-spec@${name}`,
      text: `SELECT state FROM ${states} t WHERE id = $1`,
      values: [taskId],
    })
    return rows[0]?.state
  }

  return {
    ...context,
    acceptor,
    stub,
    addApplication,
    addDevices,
    counters,
    async startPlanner() {
      running.push(await planner.start(context))
    },
    async startWorkers(channels: readonly VendorChannel[] = vendorChannels) {
      for (const channel of channels) running.push(await channelWorker(adapters[channel]!).start(context))
    },
    async stopServices() {
      await Promise.all(running.splice(0).map((service) => service.stop()))
    },
    notify: (appId: string, task: Partial<NewTask> = {}) =>
      acceptor
        .accept({
          appId,
          audience: { kind: 'all' },
          strategy: 'ospush_only',
          sequence: ['ups', 'fcm'],
          message: plainMessage,
          ttl: 86_400,
          ...task,
        })
        .then(({ taskId }) => taskId),
    stateOf,
    /** Lets a scheduled task begin now. */
    begin: (taskId: number) => db.pool.query('UPDATE task SET begin_at = now() WHERE id = $1', [taskId]),
    /** Ends the time that is left for the batches of these tasks that are not settled. */
    expire: (taskIds: number[]) =>
      db.pool.query(`UPDATE batch SET deadline = now() WHERE task_id = ANY($1) AND state <> 'settled'`, [
        taskIds,
      ]),
    finished: (taskId: number) =>
      until(async () => ['finished', 'cancelled'].includes(await stateOf(taskId)), {
        what: `the end of task ${taskId}`,
      }),
    ledger: async (taskId: number): Promise<StubEntry[]> =>
      (await fetch(`${stub.url}/ledger?task=${taskId}`)).json() as Promise<StubEntry[]>,
    imbalances: (): Promise<Imbalance[]> => findImbalances(db),
    async stop() {
      await Promise.all(running.map((service) => service.stop()))
      await acceptor.close()
      await context.close()
      await stub.close()
      await pooler?.stop()
      await database.drop()
    },
  }
}

export type Harness = Awaited<ReturnType<typeof startHarness>>

function nonZero(counts: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0))
}

/** What beginRound and planRound need, with postponed tasks that never become due again. */
export function planningDeps({ db, certificates }: Pick<Harness, 'db' | 'certificates'>) {
  const failed: number[] = []
  return {
    db,
    certificates,
    failed,
    postponed: createPostponed({
      db,
      now: () => 0,
      onPlanningFailed: ({ taskId }) => {
        failed.push(taskId)
      },
    }),
    dueTurns: { high: '', normal: '' },
    turns: newPageTurns(),
    mayWaitInBundle: async () => true,
    onBegun() {},
    onPlanned() {},
  }
}
