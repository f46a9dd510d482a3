import { randomBytes } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { saveWebhook, type WebhookSettings } from '@herald/db/events'
import { eventNames } from '@herald/domain'
import { newWebhookSecret } from '@herald/outbound'
import { type Activity, openContext, type Running } from '@herald/program'
import { readSettings } from '@herald/settings'
import { createLogger, createRegistry } from '@herald/telemetry'
import { closeServer, listen } from '@herald/testkit'
import { testDatabase } from '@herald/testkit/database'
import { addApplication } from '@herald/testkit/sample-tenant'
import { Webhook } from 'standardwebhooks'
import { type CourierOptions, courier } from '../src/index.ts'

export type Entry = { id: string; type: string; at: number; task_id?: number; device_guid?: string } & Record<
  string,
  unknown
>
export type Received = { headers: IncomingHttpHeaders; text: string; id: string; entries: Entry[] }

/** How the server treats a request: the status of its response, or another behaviour. */
export type Answer = number | ((response: ServerResponse) => void)

/** An application's server. It verifies every request with the reference library of Standard Webhooks. */
export async function startReceiver(secretOf: () => string) {
  const received: Received[] = []
  let answer: (request: Received) => Answer | Promise<Answer> = () => 204
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    // Throws if the signature, the id or the timestamp is wrong.
    const body = new Webhook(secretOf()).verify(text, request.headers as Record<string, string>) as {
      type: string
      timestamp: string
      data: Entry[]
    }
    const got = {
      headers: request.headers,
      text,
      id: request.headers['webhook-id'] as string,
      entries: body.data,
    }
    received.push(got)
    const what = await answer(got)
    if (typeof what === 'number') response.writeHead(what).end()
    else what(response)
  })
  const port = await listen(server)
  return {
    port,
    url: `http://127.0.0.1:${port}/events`,
    received,
    entries: () => received.flatMap(({ entries }) => entries),
    answerWith(next: typeof answer) {
      answer = next
    },
    close: () => closeServer(server),
  }
}

export type WebhookRow = {
  cursor: number
  head: number
  attempts: number
  sending_id: number | null
  worker: string | null
  rested_at: Date | null
  rest_reason: string | null
  last_error: string | null
}

export type NewEvent = {
  kind?: string
  taskId?: number
  campaign?: string
  channel?: string
  code?: string
  text?: string
  devices?: number[]
  detail?: Record<string, unknown>
}

export async function startHarness(settings: Record<string, string> = {}) {
  const database = await testDatabase()
  const masterKey = randomBytes(32).toString('hex')
  const context = await openContext({
    settings: readSettings({
      DATABASE_URL: database.url,
      HERALD_MASTER_KEY: masterKey,
      HERALD_WEBHOOK_PRIVATE: 'on',
      ...settings,
    }).settings,
    log: createLogger({ name: 'harness', level: 'silent' }),
    registry: createRegistry('harness'),
    // Five seconds are too few for a process that gets no CPU for seconds.
    waitMs: 120_000,
  })
  const { db, sealer } = context
  const running: Running[] = []
  const by = { actor: 'spec' }
  const secrets = new Map<number, string>()
  let added = 0

  return {
    db,
    context,
    /** For programs that are started as processes. */
    env: {
      DATABASE_URL: database.url,
      HERALD_MASTER_KEY: masterKey,
      HERALD_WEBHOOK_PRIVATE: 'on',
      HERALD_METRICS_PORT: '0',
      HERALD_LOG_LEVEL: 'warn',
    },
    secretOf: (webhookId: number) => secrets.get(webhookId)!,
    addApplication: (name?: string) => addApplication(db, name, 'com.example'),
    async addDevices(appId: string, count: number, userId?: number): Promise<{ id: number; guid: string }[]> {
      const { rows } = await db.pool.query<{ id: number; guid: string }>(
        `INSERT INTO device (app_id, guid, user_id, moved_at)
         SELECT $1, gen_random_uuid()::text, $3, now() - interval '1 hour' FROM generate_series(1, $2) RETURNING id, guid`,
        [appId, count, userId ?? null],
      )
      return rows
    },
    async addWebhook(appId: string, url: string, more: Partial<WebhookSettings> = {}): Promise<number> {
      const settings = { name: `hook-${added++}`, url, events: [...eventNames], ...more }
      const saved = await saveWebhook(db, sealer, appId, { ...settings, newSecret: newWebhookSecret() }, by)
      if (typeof saved === 'string') throw new Error(saved)
      if (saved.secret) secrets.set(saved.webhookId, saved.secret)
      return saved.webhookId
    },
    async write(appId: string, events: NewEvent[]): Promise<void> {
      for (const event of events)
        await db.pool.query(
          `INSERT INTO outbox (app_id, kind, task_id, campaign, channel, code, text, devices, detail)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
          [
            appId,
            event.kind ?? 'device.sent',
            event.taskId ?? 1,
            event.campaign ?? null,
            event.channel ?? 'fcm',
            event.code ?? null,
            event.text ?? null,
            event.devices ?? null,
            event.detail ?? null,
          ],
        )
    },
    async row(webhookId: number): Promise<WebhookRow> {
      const { rows } = await db.pool.query<WebhookRow>('SELECT * FROM webhook WHERE id = $1', [webhookId])
      return rows[0]!
    },
    async startCourier(options: CourierOptions = {}, activity?: Activity): Promise<Running> {
      const started = await courier(options).start({ ...context, activity })
      running.push(started)
      return started
    },
    /** The pause after a failed request is over. */
    async skipPause(webhookId: number): Promise<void> {
      await db.pool.query('UPDATE webhook SET next_at = now() WHERE id = $1', [webhookId])
    },
    async stop(): Promise<void> {
      await Promise.all(running.map((one) => one.stop()))
      await context.close()
      await database.drop()
    },
  }
}
