import { shanghaiHour } from '../shared/day.ts'
import { bySecond, byShanghaiDay, openRateMeter } from '../shared/sim-rate.ts'
import { openReceiptPoster } from '../shared/sim-receipts.ts'
import { type SimFrame, type SimReply, type SimRequest, startSimServer } from '../shared/sim-server.ts'
import type { Simulator } from '../simulator.ts'
import { categories } from './classification.ts'
import { openAuthDesk, type VivoCredential } from './simulator-auth.ts'
import { type ReceiptItem, writeReceipts } from './simulator-receipts.ts'
import { findFault, requestIdFault, type VivoStrictness } from './simulator-rules.ts'
import { say } from './simulator-words.ts'
import { checkToken } from './token.ts'

export type VivoSimulatorOptions = VivoStrictness & {
  port?: number
  /** Applications that exist. */
  credentials?: readonly VivoCredential[]
  /** Any appId, appKey and sign is good, for load tests. */
  acceptAnyCredentials?: boolean
  /** The only tokens alive; absent: any well-formed token is. */
  registry?: Iterable<string>
  /** Devices that test sends (pushMode 1) reach. */
  testDevices?: Iterable<string>
  /** Unix ms; the simulator's only clock. */
  now?(): number
  /** Messages a second and application; 3000 unless told, Infinity for none. */
  messagesPerSecond?: number
  /** Auth calls a second and application; 10 unless told. */
  authPerSecond?: number
  /** Messages a day and application, by classification; none unless told. */
  dailyVolume?: { operational?: number; system?: number }
  /** List payloads a day and application; none unless told. */
  listPayloadsPerDay?: number
  /** Operational messages pass at any hour. */
  alwaysOpen?: boolean
  receiptDelayMs?: number
}

export type VivoSimulator = Simulator & {
  kill(tokens: Iterable<string>): void
  /** A receipt address as entered in the console, for sends that name its id as callback.id. */
  registerReceipts(address: { callbackId: string; url: string }): void
  /** Every saved list payload is gone, as after its undocumented lifetime. */
  dropListPayloads(): void
  /** Answers every send and save with this result, e.g. 10043; undefined ends it. */
  forceResult(result: number | undefined): void
  /** Resolves when the receipts of all sends so far have been called back. */
  receiptsPosted(): Promise<void>
}

type Body = Record<string, unknown>
type Stored = { app: string; notice: Body }
type Numbers = { send: number; receive: number }

export async function startVivoSimulator(options: VivoSimulatorOptions = {}): Promise<VivoSimulator> {
  const now = options.now ?? Date.now
  const testDevices = new Set(options.testDevices)
  const addresses = new Map<string, string>()
  const payloads = new Map<string, Stored>()
  const statistics = new Map<string, Numbers>()
  const rate = openRateMeter(options.messagesPerSecond ?? 3000, now, bySecond)
  const saves = openRateMeter(options.listPayloadsPerDay, now, byShanghaiDay)
  const volumes = [
    openRateMeter(options.dailyVolume?.operational, now, byShanghaiDay),
    openRateMeter(options.dailyVolume?.system, now, byShanghaiDay),
  ] as const
  const desk = openAuthDesk({
    credentials: options.credentials ?? [],
    acceptAny: options.acceptAnyCredentials ?? false,
    meter: openRateMeter(options.authPerSecond ?? 10, now, bySecond),
    now,
  })
  const receipts = openReceiptPoster<ReceiptItem>({
    write: (items) => writeReceipts(items, now()),
    delayMs: options.receiptDelayMs,
  })
  let lastId = 121_397_000
  let expired = false
  let forced: number | undefined

  function answer(request: SimRequest, frame: SimFrame): SimReply {
    // Passes handed out before the fault are refused; those handed out while it lasts are good.
    if (frame.faults.expireAuth && !expired) desk.expireAll()
    expired = frame.faults.expireAuth ?? false
    if (request.path === '/report/getStatistics') return { body: report(request) }
    const serve = routes[request.path]
    if (!serve) return { status: 404, body: 'Not Found' }
    if (request.method !== 'POST') return { status: 405, body: 'Method Not Allowed' }
    if (request.mediaType !== 'application/json') return { status: 415, body: 'Unsupported Media Type' }
    const body = request.json()
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      return { status: 400, body: 'Bad Request' }
    return { body: serve(body as Body, request, frame) }
  }

  const routes: Readonly<Record<string, (body: Body, request: SimRequest, frame: SimFrame) => object>> = {
    '/message/auth': (body, _request, frame) => {
      if (frame.faults.refuseAuth) return say(10206)
      const admitted = desk.admit(body)
      return 'result' in admitted ? say(admitted.result) : { ...say(0), ...admitted }
    },
    '/message/send': (body, request, frame) => {
      const app = enter(body, request, frame)
      const fault = typeof app === 'number' ? app : findFault(body, { ...options, kind: 'single' })
      if (fault !== undefined) return say(fault)
      const target = String(isBlank(body.regId) ? body.alias : body.regId)
      const status = statusOf(target, body.pushMode, frame)
      if (status) return { ...say(10302), invalidUser: { status, userid: target } }
      const barred = bar(String(app), body, body.pushMode, 1)
      if (barred) return say(barred)
      const taskId = String(++lastId)
      deliver(taskId, body, body.pushMode, [target], frame)
      return { ...say(0), taskId }
    },
    '/message/saveListPayload': (body, request, frame) => {
      const app = enter(body, request, frame)
      const fault = typeof app === 'number' ? app : findFault(body, { ...options, kind: 'list' })
      if (fault !== undefined) return say(fault)
      if (!saves.take(String(app), 1)) return say(10252)
      const taskId = String(++lastId)
      payloads.set(taskId, { app: String(app), notice: body })
      return { ...say(0), taskId }
    },
    '/message/pushToList': (body, request, frame) => {
      const app = enter(body, request, frame)
      if (typeof app === 'number') return say(app)
      const targets = readTargets(body)
      const stored = payloads.get(String(body.taskId))
      const fault = requestIdFault(body.requestId) ?? listFault(targets, body.taskId)
      if (fault !== undefined) return say(fault)
      if (stored?.app !== app) return say(10155)
      const barred = bar(app, stored.notice, body.pushMode, targets.length)
      if (barred) return say(barred)
      const invalidUsers: { status: number; userid: string }[] = []
      const alive: string[] = []
      for (const target of targets) {
        const status = statusOf(target, body.pushMode, frame)
        if (status) invalidUsers.push({ status, userid: target })
        else alive.push(target)
      }
      deliver(String(body.taskId), stored.notice, body.pushMode, alive, frame)
      const named = invalidUsers.length > 0 ? { invalidUsers } : {}
      return { requestId: body.requestId, ...say(0), ...named }
    },
  }

  /** The app behind a call, or the code of the refusal. */
  function enter(body: Body, request: SimRequest, frame: SimFrame): string | number {
    const app = desk.appOf(request.headers.authtoken)
    if (app === undefined || frame.faults.refuseAuth) return 10000
    if (body.appId !== undefined && String(body.appId) !== app) return 10094
    return forced ?? app
  }

  /** Hours, the day's volume and the rate; test sends are free of the first two. */
  function bar(app: string, notice: Body, pushMode: unknown, count: number): number | undefined {
    const given = notice.classification ?? categories[String(notice.category)]
    const classification = given === 1 ? 1 : 0
    if (pushMode !== 1) {
      const hour = shanghaiHour(now())
      if (classification === 0 && !options.alwaysOpen && (hour < 7 || hour >= 23)) return 10071
      if (!volumes[classification].take(app, count)) return classification === 0 ? 10070 : 10073
    }
    return rate.take(app, count) ? undefined : 10072
  }

  /** 0 when the token may be sent to, else vivo's word for why not. */
  function statusOf(target: string, pushMode: unknown, frame: SimFrame): number {
    if (checkToken(target) !== undefined || target.endsWith('bad1')) return 1
    if (target.endsWith('bad2') || frame.deadSince(target) !== undefined) return 2
    if (!frame.isAlive(target)) return 1
    return pushMode === 1 && !testDevices.has(target) ? 4 : 0
  }

  function deliver(
    taskId: string,
    notice: Body,
    pushMode: unknown,
    targets: string[],
    frame: SimFrame,
  ): void {
    const map = notice.clientCustomMap as { task_id?: string } | undefined
    for (const target of targets) frame.book.record(map?.task_id, target)
    const url = receiptAddress(notice, taskId, pushMode)
    const told = url !== undefined && !frame.faults.silentReceipts
    const numbers = statistics.get(taskId) ?? { send: 0, receive: 0 }
    numbers.send += targets.length
    if (told) numbers.receive += targets.length
    statistics.set(taskId, numbers)
    if (!told) return
    const param = (notice.extra as Record<string, string>)['callback.param'] ?? ''
    for (const target of targets) receipts.push(url, { taskId, target, param })
  }

  /** An id serves every send, an address in the request formal single sends alone. */
  function receiptAddress(notice: Body, taskId: string, pushMode: unknown): string | undefined {
    const extra = (notice.extra ?? {}) as Record<string, string>
    const id = extra['callback.id']
    if (id !== undefined) return addresses.get(id)
    return payloads.has(taskId) || pushMode === 1 ? undefined : extra.callback
  }

  function report(request: SimRequest): object {
    if (request.method !== 'GET' || desk.appOf(request.headers.authtoken) === undefined) return say(10000)
    const ids = (request.query.get('taskIds') ?? '').split(',').filter(Boolean).slice(0, 100)
    const known = ids.flatMap((taskId) => {
      const numbers = statistics.get(taskId)
      return numbers ? [{ taskId, ...numbers, display: 0, click: 0 }] : []
    })
    return { ...say(0), statistics: known }
  }

  const frame = await startSimServer({
    port: options.port,
    registry: options.registry,
    answer,
    throttled: ({ path }) => (path === '/message/auth' ? undefined : { body: say(10072) }),
    unavailable: () => ({
      status: 500,
      headers: { 'content-type': 'text/plain' },
      body: 'Internal Server Error',
    }),
    onReset() {
      payloads.clear()
      statistics.clear()
      for (const meter of [rate, saves, ...volumes]) meter.clear()
      forced = undefined
    },
    onClose: () => receipts.close(),
  })
  return Object.assign(frame, {
    registerReceipts: ({ callbackId, url }: { callbackId: string; url: string }) => {
      addresses.set(callbackId, url)
    },
    dropListPayloads: () => payloads.clear(),
    forceResult(result: number | undefined) {
      forced = result
    },
    receiptsPosted: () => receipts.drained(),
  })
}

function listFault(targets: readonly string[], taskId: unknown): number | undefined {
  if (isBlank(taskId)) return 10151
  if (!/^\d{1,20}$/.test(String(taskId))) return 10152
  if (targets.length === 0) return 10150
  if (targets.length < 2) return 10153
  return targets.length > 1000 ? 10154 : undefined
}

/** vivo holds targets in a set; regIds win over aliases. */
function readTargets({ regIds, aliases }: Body): string[] {
  const given = [regIds, aliases].find((list) => Array.isArray(list) && list.length > 0)
  return [...new Set((given as unknown[] | undefined)?.map(String))]
}

function isBlank(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}
