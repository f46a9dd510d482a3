import { randomBytes } from 'node:crypto'
import { saveCertificate } from '@herald/db/certificates'
import { findEventImbalances, findImbalances, subqueriesFor } from '@herald/db/readings'
import { createApplication } from '@herald/db/tenants'
import { type NewTask, type VendorChannel, vendorChannels } from '@herald/domain'
import { createAcceptor } from '@herald/plan'
import { type OpenContext, openContext, type Running } from '@herald/program'
import { readSettings } from '@herald/settings'
import { createLogger, createRegistry } from '@herald/telemetry'
import { freePort, startApp, until } from '@herald/testkit'
import { testDatabase } from '@herald/testkit/database'
import { sampleMessage } from '@herald/testkit/sample-message'
import { stubChannel } from '@herald/testkit/stub-channel'
import { type StubEntry, startStubServer } from '@herald/testkit/stub-server'
import { channelWorker } from '@herald/worker'
import { WebSocket } from 'ws'
import { nativeGateway } from '../src/index.ts'

export const plainMessage = sampleMessage()

export type TestDevice = { id: number; pushToken: string }

/** Runs gateways in this process, a planner in its own process, and stub vendors. */
export async function openHarness(env: Record<string, string> = {}) {
  const database = await testDatabase()
  const stub = await startStubServer()
  const adapters = Object.fromEntries(
    vendorChannels.map((name) => [name, stubChannel(name, { url: stub.url })]),
  )
  const environment = {
    DATABASE_URL: database.url,
    HERALD_MASTER_KEY: randomBytes(32).toString('hex'),
    HERALD_METRICS_PORT: '0',
    HERALD_LOG_LEVEL: 'error',
    // Never reached: `endWait` ends the wait for an acknowledgement.
    HERALD_ACK_SECONDS: '3600',
    ...env,
  }
  const open = (extra: Record<string, string> = {}): Promise<OpenContext> =>
    openContext({
      settings: readSettings({ ...environment, ...extra }).settings,
      log: createLogger({ name: 'harness', level: 'error' }),
      registry: createRegistry('harness'),
      // Five seconds are too few for a process that gets no CPU for seconds.
      waitMs: 120_000,
      certificateAdapters: adapters,
    })
  const context = await open()
  const { db, sealer } = context
  await keepLeases(db)
  const acceptor = createAcceptor({ ...context, onQueueFailure: () => {} })
  const closings: (() => Promise<unknown>)[] = []

  /** The certificates must also be readable for the real adapters in the planner's process. */
  async function addApplication(
    name: string,
    channels: VendorChannel[] = ['xiaomi', 'oppo'],
  ): Promise<string> {
    const made = await createApplication(db, { name, packageName: 'com.example' })
    if (made === 'taken') throw new Error('taken')
    for (const channel of channels) {
      await saveCertificate(db, sealer, {
        application: made.appId,
        channel,
        environment: 'production',
        name: channel,
        appId: '100000',
        appKey: 'key',
        appSecret: 'secret',
        certificate: '',
        extra: channel === 'xiaomi' ? { package_name: 'com.example' } : {},
      })
    }
    return made.appId
  }

  async function addDevice(
    appId: string,
    tokens: Partial<Record<VendorChannel, string>> = {},
  ): Promise<TestDevice> {
    const { rows } = await db.pool.query<{ id: number; push_token: string }>(
      `INSERT INTO device (app_id, guid, push_token, platform, moved_at)
       VALUES ($1, gen_random_uuid()::text, gen_random_uuid()::text, 'android', now() - interval '1 hour') RETURNING id, push_token`,
      [appId],
    )
    const [device] = rows
    for (const [channel, token] of Object.entries(tokens))
      await db.pool.query(
        `INSERT INTO binding (device_id, channel, app_id, token, registered_at) VALUES ($1, $2, $3, $4, now() - interval '1 hour')`,
        [device!.id, channel, appId, token],
      )
    return { id: device!.id, pushToken: device!.push_token }
  }

  async function startGateway(extra: Record<string, string> = {}) {
    const port = await freePort()
    const own = await open({ HERALD_GATEWAY_PORT: String(port), HERALD_NODE_ID: `test-${port}`, ...extra })
    const running: Running = await nativeGateway().start(own)
    let stopped: Promise<void> | undefined
    const stop = () => {
      stopped ??= running.stop().then(own.close)
      return stopped
    }
    closings.push(stop)
    return { port, url: `ws://127.0.0.1:${port}/native`, stop, waiting: running.waiting, context: own }
  }

  return {
    ...context,
    environment,
    stub,
    addApplication,
    addDevice,
    startGateway,
    async startPlanner() {
      const planner = startApp('apps/planner/src/main.ts', environment)
      closings.push(() => planner.stop())
    },
    async startWorkers(channels: VendorChannel[] = ['xiaomi', 'oppo']) {
      for (const channel of channels) {
        const worker = await channelWorker(adapters[channel]!).start(context)
        closings.push(worker.stop)
      }
    },
    notify: async (appId: string, devices: TestDevice[], task: Partial<NewTask> = {}) => {
      const { taskId } = await acceptor.accept({
        appId,
        audience: { kind: 'push_token', pushTokens: devices.map(({ pushToken }) => pushToken) },
        strategy: 'nativepush_only',
        sequence: ['ups', 'fcm'],
        message: plainMessage,
        ttl: 86_400,
        // So that `imbalances` compares the events of all tasks with their counters.
        events: 2,
        ...task,
      })
      return taskId
    },
    async counters(taskId: number): Promise<Record<string, Record<string, number>>> {
      const { rows } = await db.pool.query(
        `SELECT channel, target, sent, received, failed, moved, expired, cancelled FROM ${subqueriesFor(taskId).counters} c WHERE task_id = $1`,
        [taskId],
      )
      return Object.fromEntries(
        rows.map(({ channel, ...counts }) => [
          channel,
          Object.fromEntries(Object.entries(counts as Record<string, number>).filter(([, n]) => n !== 0)),
        ]),
      )
    },
    async becomes(taskId: number, wanted: Record<string, Record<string, number>>, seconds = 60) {
      let seen: unknown
      await until(
        async () => {
          seen = await this.counters(taskId)
          return JSON.stringify(sorted(seen)) === JSON.stringify(sorted(wanted))
        },
        { seconds, what: `counters ${JSON.stringify(wanted)}` },
      ).catch((error) => {
        throw new Error(`${error.message} They are ${JSON.stringify(seen)}.`)
      })
    },
    /** The devices that have not acknowledged this task are late. */
    endWait: (taskId: number) =>
      db.pool.query('UPDATE inbox SET fallback_at = now() WHERE task_id = $1 AND fallback_at IS NOT NULL', [
        taskId,
      ]),
    isOnline: async ({ id }: TestDevice) =>
      (
        await db.pool.query(
          `SELECT 1 FROM presence p JOIN gateway_node n ON n.id = p.node AND n.lease_until > now() WHERE p.device_id = $1`,
          [id],
        )
      ).rows.length > 0,
    inboxOf: async ({ id }: TestDevice): Promise<number[]> =>
      (await db.pool.query('SELECT task_id FROM inbox WHERE device_id = $1 ORDER BY 1', [id])).rows.map(
        (row) => row.task_id,
      ),
    ledger: async (taskId: number) =>
      (await (await fetch(`${stub.url}/ledger?task=${taskId}`)).json()) as StubEntry[],
    imbalances: async () => [...(await findImbalances(db)), ...(await findEventImbalances(db))],
    async close() {
      await Promise.all(closings.map((close) => close()))
      await acceptor.close()
      await context.close()
      await stub.close()
      await database.drop()
    },
  }
}

export type Harness = Awaited<ReturnType<typeof openHarness>>

/** Leases of gateways last ten minutes longer: a spec process that gets no CPU for ten seconds is not a dead gateway. */
function keepLeases({ pool }: OpenContext['db']): Promise<unknown> {
  return pool.query(
    `CREATE FUNCTION keep_lease() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN NEW.lease_until := NEW.lease_until + interval '10 minutes'; RETURN NEW; END $$;
     CREATE TRIGGER keep_lease BEFORE INSERT OR UPDATE ON gateway_node FOR EACH ROW
       WHEN (NEW.lease_until > now()) EXECUTE FUNCTION keep_lease()`,
  )
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => [key, sorted(inner)])
}

/** The request with which a client that is only a TCP socket opens a connection. */
export const handshake = () =>
  Buffer.from(
    `GET /native HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${randomBytes(16).toString('base64')}\r\nsec-websocket-protocol: herald.v1\r\n\r\n`,
  )

/** A raw connection without the client library. */
export async function dial(url: string, options: { protocols?: string[]; localAddress?: string } = {}) {
  const socket = new WebSocket(url, options.protocols ?? ['herald.v1'], {
    localAddress: options.localAddress,
    rejectUnauthorized: false,
  })
  const frames: { op: string; task_id?: number; message?: Record<string, unknown> }[] = []
  const texts: string[] = []
  let closed: { code: number; reason: string } | undefined
  socket.on('message', (data) => {
    texts.push(String(data))
    frames.push(JSON.parse(String(data)))
  })
  socket.on('close', (code, reason) => {
    closed = { code, reason: String(reason) }
  })
  const failure = new Promise<Error>((resolve) => socket.on('error', resolve))
  await Promise.race([
    new Promise((resolve) => socket.once('open', resolve)),
    failure.then((e) => Promise.reject(e)),
  ])
  return {
    socket,
    frames,
    texts,
    send: (frame: unknown) => socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame)),
    closed: (seconds = 60) => until(() => closed, { seconds, what: 'the close' }),
    isClosed: () => closed !== undefined,
    pushes: () => frames.filter(({ op }) => op === 'push').map(({ task_id }) => task_id),
    gets: (taskId: number, seconds = 60) =>
      until(() => frames.find((frame) => frame.op === 'push' && frame.task_id === taskId), {
        seconds,
        what: `task ${taskId}`,
      }),
    ack: (...taskIds: number[]) => socket.send(JSON.stringify({ op: 'ack', task_ids: taskIds })),
    cut: () => socket.terminate(),
    close: () => socket.close(),
  }
}

/** Connects, says hello and waits for the welcome. */
export async function connect(url: string, device: TestDevice, localAddress?: string, hello = {}) {
  const connection = await dial(url, { localAddress })
  connection.send({ op: 'hello', push_token: device.pushToken, ...hello })
  await until(() => connection.frames.some(({ op }) => op === 'welcome'), { what: 'the welcome' })
  return connection
}
