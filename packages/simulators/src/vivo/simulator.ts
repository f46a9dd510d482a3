import { isObject } from '../frame/fields.ts'
import { bySecond, byShanghaiDay, openRateMeter, type RateMeter } from '../frame/rate.ts'
import { openReceiptPoster } from '../frame/receipts.ts'
import { type SimCall, type SimFrame, type SimReply, type SimRoute, startSimServer } from '../frame/server.ts'
import type { Simulator } from '../simulator.ts'
import { openVivoAuth, type VivoCredential } from './auth.ts'
import { type ReceiptItem, writeReceipts } from './receipts.ts'
import { toResult } from './results.ts'
import { categories, findFault, findListFault, isBlank, type VivoStrictness } from './rules.ts'

export type VivoSimulatorOptions = VivoStrictness & {
  port?: number
  /** The registered applications. */
  credentials?: readonly VivoCredential[]
  /** Accepts every appId, appKey and sign, for load tests. */
  acceptAnyCredentials?: boolean
  /** Accepts credentials that it does not know if they are well-formed; those that it knows are still checked. */
  acceptUnknownCredentials?: boolean
  /** The only tokens that are alive; by default every well-formed token is. */
  registry?: Iterable<string>
  /** Devices that get test sends (pushMode 1). */
  testDevices?: Iterable<string>
  /** The simulator's clock, in Unix ms. */
  now?(): number
  /** Messages per second and application; 3000 by default, Infinity for no limit. */
  messagesPerSecond?: number
  /** Auth calls per second and application; 10 by default. */
  authPerSecond?: number
  /** Messages per day and application, by classification; unlimited by default. */
  dailyVolume?: { operational?: number; system?: number }
  /** List payloads per day and application; unlimited by default. */
  listPayloadsPerDay?: number
  /** Accepts operational messages at any hour. */
  alwaysOpen?: boolean
  receiptDelayMs?: number
}

export type VivoSimulator = Simulator & {
  kill(tokens: Iterable<string>): void
  /** A receipt URL as entered in the console, for sends with its id as callback.id. */
  registerReceipts(address: { callbackId: string; url: string }): void
  /** Drops all saved list payloads, as at the end of their undocumented lifetime. */
  dropListPayloads(): void
  /** Replies to every send and save with this result, e.g. 10043, until called with undefined. */
  forceResult(result: number | undefined): void
  /** Resolves when all receipts so far were posted. */
  receiptsPosted(): Promise<void>
}

type Body = Record<string, unknown>
type App = { id: string }
type Call = SimCall & { app: App; body: Body }
type Stored = { app: string; notice: Body }
type Numbers = { send: number; receive: number }

/**
 * Rules of single accounts: the application is in review, so only test sends are accepted; it has no permission for system messages;
 * it has none for badges, for which vivo documents no code.
 */
const accountRules = ['in_review', 'no_system_messages', 'no_badge']
const badgeRefused = 10999

/** Old regIds have 23 digits, newer ones are longer and base64. */
const regId = /^[A-Za-z0-9_=-]{16,128}$/

export async function startVivoSimulator(options: VivoSimulatorOptions = {}): Promise<VivoSimulator> {
  const now = options.now ?? Date.now
  const testDevices = new Set(options.testDevices)
  const addresses = new Map<string, string>()
  const payloads = new Map<string, Stored>()
  const statistics = new Map<string, Numbers>()
  const rate = openRateMeter(options.messagesPerSecond ?? 3000, now, bySecond)
  const saves = openRateMeter(options.listPayloadsPerDay, now, byShanghaiDay)
  const volumes = [
    openDailyVolume(options.dailyVolume?.operational, now),
    openDailyVolume(options.dailyVolume?.system, now),
  ] as const
  const auth = openVivoAuth({
    credentials: options.credentials ?? [],
    acceptAny: options.acceptAnyCredentials ?? options.acceptUnknownCredentials ?? false,
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

  /** Tokens issued before the fault was switched on are refused; those issued later are valid. */
  function applyExpiry({ faults }: SimFrame): void {
    if (faults.expireAuth && !expired) auth.expireAll()
    expired = faults.expireAuth ?? false
  }

  function authenticate({ request, frame }: SimCall): App | { refused: SimReply } {
    applyExpiry(frame)
    const id = auth.appOf(request.headers.authtoken)
    return id === undefined || frame.faults.refuseAuth ? { refused: { body: toResult(10000) } } : { id }
  }

  function issueToken({ request, frame }: SimCall): object {
    applyExpiry(frame)
    if (frame.faults.refuseAuth) return toResult(10206)
    const admitted = auth.admit(request.json() as Body)
    return 'result' in admitted ? toResult(admitted.result) : { ...toResult(0), ...admitted }
  }

  /** The refusal of a message that only accounts without a restriction may send. */
  function restrictionOf(notice: Body, pushMode: unknown, frame: SimFrame): number | undefined {
    if (frame.hasRule('in_review') && pushMode !== 1) return 10045
    if (frame.hasRule('no_system_messages') && classificationOf(notice) === 1) return 10082
    return frame.hasRule('no_badge') && notice.addBadge !== undefined ? badgeRefused : undefined
  }

  function send({ body, app, frame }: Call): object {
    const fault = findFault(body, { ...options, kind: 'single' }) ?? restrictionOf(body, body.pushMode, frame)
    if (fault !== undefined) return toResult(fault)
    const target = String(isBlank(body.regId) ? body.alias : body.regId)
    const status = statusOf(target, body.pushMode, frame)
    if (status) return { ...toResult(10302), invalidUser: { status, userid: target } }
    const limit = limitOf(app.id, body, body.pushMode, 1)
    if (limit) return toResult(limit)
    const taskId = String(++lastId)
    deliver(taskId, body, body.pushMode, [target], frame)
    return { ...toResult(0), taskId }
  }

  function saveList({ body, app, frame }: Call): object {
    const fault = findFault(body, { ...options, kind: 'list' }) ?? restrictionOf(body, body.pushMode, frame)
    if (fault !== undefined) return toResult(fault)
    if (!saves.take(app.id, 1)) return toResult(10252)
    const taskId = String(++lastId)
    payloads.set(taskId, { app: app.id, notice: body })
    return { ...toResult(0), taskId }
  }

  function pushToList({ body, app, frame }: Call): object {
    const { kind, targets } = readTargets(body)
    const fault = findListFault({ body, targets: targets.length, kind })
    if (fault !== undefined) return toResult(fault)
    const stored = payloads.get(String(body.taskId))
    if (stored?.app !== app.id) return toResult(10155)
    // vivo's SDK names the mode in the saved payload only, newer notes name it in this body.
    const pushMode = stored.notice.pushMode === 1 ? 1 : body.pushMode
    const limit =
      restrictionOf(stored.notice, pushMode, frame) ??
      limitOf(app.id, stored.notice, pushMode, targets.length)
    if (limit) return toResult(limit)
    const { valid = [], invalid = [] } = Object.groupBy(
      targets.map((userid) => ({ status: statusOf(userid, pushMode, frame), userid })),
      ({ status }) => (status ? 'invalid' : 'valid'),
    )
    const alive = valid.map(({ userid }) => userid)
    deliver(String(body.taskId), stored.notice, pushMode, alive, frame)
    return { requestId: body.requestId, ...toResult(0), ...(invalid.length > 0 && { invalidUsers: invalid }) }
  }

  /** A route with a JSON body; `open` needs no token. */
  const json = <Handler extends 'open' | 'answer'>(kind: Handler, serve: (call: never) => object) =>
    ({
      [kind]: (call: SimCall & { app?: App }): SimReply => {
        const body = call.request.json()
        if (!isObject(body)) return { status: 400, body: 'Bad Request' }
        if (call.app && body.appId !== undefined && String(body.appId) !== call.app.id)
          return { body: toResult(10094) }
        if (call.app && forced !== undefined) return { body: toResult(forced) }
        return { body: serve({ ...call, body } as never) }
      },
      media: { type: 'application/json', refusal: { status: 415, body: 'Unsupported Media Type' } },
    }) as unknown as SimRoute<App>
  const routes = {
    'POST /message/auth': json('open', issueToken),
    'POST /message/send': json('answer', send),
    'POST /message/saveListPayload': json('answer', saveList),
    'POST /message/pushToList': json('answer', pushToList),
    'GET /report/getStatistics': { answer: report },
  }

  /** The code of the limit that is reached: hours and daily volume (not for test sends), then the rate. */
  function limitOf(app: string, notice: Body, pushMode: unknown, count: number): number | undefined {
    const classification = classificationOf(notice)
    if (pushMode !== 1) {
      const hour = Math.floor(((now() + 8 * 3_600_000) % 86_400_000) / 3_600_000)
      if (classification === 0 && !options.alwaysOpen && (hour < 7 || hour >= 23)) return 10071
      if (!volumes[classification].take(app, count)) return classification === 0 ? 10070 : 10073
    }
    return rate.take(app, count) ? undefined : 10072
  }

  /** 0 for a valid target, otherwise vivo's status of invalid ones. */
  function statusOf(target: string, pushMode: unknown, frame: SimFrame): number {
    if (!regId.test(target) || target.endsWith('bad1')) return 1
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
    for (const target of targets) frame.accepted.record(map?.task_id, target)
    const url = receiptAddress(notice, taskId, pushMode)
    const hasReceipts = url !== undefined && !frame.faults.silentReceipts
    const numbers = statistics.get(taskId) ?? { send: 0, receive: 0 }
    numbers.send += targets.length
    if (hasReceipts) numbers.receive += targets.length
    statistics.set(taskId, numbers)
    if (!hasReceipts) return
    const param = (notice.extra as Record<string, string>)['callback.param'] ?? ''
    for (const target of targets) receipts.push(url, { taskId, target, param })
  }

  /** A callback.id is used for every send, a URL in the request only for formal single sends. */
  function receiptAddress(notice: Body, taskId: string, pushMode: unknown): string | undefined {
    const extra = (notice.extra ?? {}) as Record<string, string>
    const id = extra['callback.id']
    if (id !== undefined) return addresses.get(id)
    return payloads.has(taskId) || pushMode === 1 ? undefined : extra.callback
  }

  function report({ request }: SimCall): SimReply {
    if (forced === 10043) return { body: toResult(forced) }
    const ids = (request.query.get('taskIds') ?? '').split(',').filter(Boolean).slice(0, 100)
    const known = ids.flatMap((taskId) => {
      const numbers = statistics.get(taskId)
      return numbers ? [{ taskId, ...numbers, display: 0, click: 0 }] : []
    })
    return { body: { ...toResult(0), statistics: known } }
  }

  const frame = await startSimServer({
    port: options.port,
    registry: options.registry,
    rules: accountRules,
    routes,
    authenticate,
    throttled: ({ path }) => (path === '/message/auth' ? undefined : { body: toResult(10072) }),
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

/** vivo removes duplicates and prefers regIds to aliases. */
function readTargets({ regIds, aliases }: Body): { kind: 'regIds' | 'aliases'; targets: string[] } {
  const isGiven = (list: unknown): list is unknown[] => Array.isArray(list) && list.length > 0
  const kind = isGiven(regIds) || !isGiven(aliases) ? 'regIds' : 'aliases'
  const given = kind === 'regIds' ? regIds : aliases
  return { kind, targets: isGiven(given) ? [...new Set(given.map(String))] : [] }
}

function classificationOf(notice: Body): 0 | 1 {
  return (notice.classification ?? categories[String(notice.category)]) === 1 ? 1 : 0
}

/** Each call after the quota of the day is used up lowers it by a tenth, for the following days too. The factor is not documented. */
function openDailyVolume(max: number | undefined, now: () => number): Pick<RateMeter, 'take' | 'clear'> {
  const sent = openRateMeter(undefined, now, byShanghaiDay)
  const refused = openRateMeter(undefined, now, byShanghaiDay)
  const shares = new Map<string, number>()
  return {
    take(app, count) {
      if (max === undefined) return true
      const share = shares.get(app) ?? 1
      const fits = sent.used(app) + count <= max * share
      if (fits) sent.add(app, count)
      else {
        if (refused.used(app) > 0) shares.set(app, share * 0.9)
        refused.add(app, 1)
      }
      return fits
    },
    clear() {
      for (const part of [sent, refused, shares]) part.clear()
    },
  }
}
