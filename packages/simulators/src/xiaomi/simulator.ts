import { parseObject } from '../frame/fields.ts'
import { openNotices } from '../frame/notices.ts'
import { bySecond, byShanghaiDay, openRateMeter } from '../frame/rate.ts'
import { openReceiptPoster } from '../frame/receipts.ts'
import { type SimCall, type SimFrame, type SimReply, type SimRoute, startSimServer } from '../frame/server.ts'
import type { Simulator } from '../simulator.ts'
import { subscribedTypes, writeReceipts, type XiaomiReceipt } from './receipts.ts'
import {
  checkMessage,
  checkRevoke,
  descriptions,
  flattenMessage,
  optionalRules,
  type Refusal,
  type XiaomiSimApp,
  type XiaomiSimSwitches,
} from './rules.ts'

export type { XiaomiSimApp, XiaomiSimSwitches }

type XiaomiSimulatorOptions = {
  port?: number
  /** Applications of the console; by default the secret `sim-secret` for `com.example.app`. */
  apps?: readonly XiaomiSimApp[]
  /** Accepts every secret for every package, for load tests. */
  acceptAnyCredentials?: boolean
  /** Accepts credentials that it does not know if they are well-formed; those that it knows are still checked. */
  acceptUnknownCredentials?: boolean
  /** The only regids that are alive; by default every well-formed one is. */
  registry?: Iterable<string>
}

export type XiaomiSimulator = Simulator & {
  kill(tokens: Iterable<string>): void
  /** Replaces the switches of one application, or of all applications. */
  setSwitches(switches: XiaomiSimSwitches, appSecret?: string): void
  /** The tokens are accepted and get this receipt instead of "delivered"; 2 (clicked) comes after "delivered". */
  setReceipt(tokens: Iterable<string>, type: number): void
  /** The regids from which the notification with this id was taken. */
  withdrawn(notifyId: number): string[]
  /** Resolves when all receipts so far were posted. */
  receiptsPosted(): Promise<void>
}

/** Maximum number of messages kept for trace; older ones are dropped. */
const maxTraced = 1000
const maxTargets = 1000

type Traced = { at: number; resolved: number; invalid: number; ttl: string }

export async function startXiaomiSimulator(options: XiaomiSimulatorOptions = {}): Promise<XiaomiSimulator> {
  const apps = new Map<string, XiaomiSimApp>()
  for (const app of options.apps ?? [{ appSecret: 'sim-secret', packageName: 'com.example.app' }])
    apps.set(app.appSecret, app)
  const calls = openRateMeter(undefined, Date.now, bySecond)
  const deliveries = openRateMeter(undefined, Date.now, byShanghaiDay)
  const presetTypes = new Map<string, number>()
  const traced = new Map<string, Traced>()
  const poster = openReceiptPoster<XiaomiReceipt>({ write: writeReceipts, max: maxTargets })
  let serial = 0

  const nextId = (prefix: string) => `${prefix}${Date.now()}${String(serial++).padStart(7, '0')}b1`
  const ok = (data: unknown, info?: string): SimReply => ({
    body: { result: 'ok', trace_id: nextId('Xdm'), code: 0, data, description: '成功', info },
  })
  const error = ({ code, reason }: Refusal): SimReply => ({
    body: {
      result: 'error',
      reason,
      trace_id: nextId('Xcm'),
      code,
      description: descriptions[code] ?? '请求失败',
    },
  })

  function authenticate({ request, frame }: SimCall): XiaomiSimApp | { refused: SimReply } {
    const [, appSecret] = /^key=(.+)$/.exec(request.headers.authorization ?? '') ?? []
    const acceptsUnknown = options.acceptAnyCredentials || options.acceptUnknownCredentials
    const known = appSecret && (apps.get(appSecret) ?? (acceptsUnknown && { appSecret }))
    return known && !frame.faults.refuseAuth
      ? known
      : { refused: error({ code: 21301, reason: 'Invalid application secret.' }) }
  }

  function checkLimits({ appSecret, switches = {} }: XiaomiSimApp): Refusal | undefined {
    const { forceCode, requestsPerSecond = Number.POSITIVE_INFINITY, dailyQuota } = switches
    if (forceCode !== undefined) return { code: forceCode, reason: 'forced by the simulator' }
    if (calls.used(appSecret) >= requestsPerSecond) return { code: 200002, reason: 'QPS limit exceeded' }
    calls.add(appSecret, 1)
    const acked = deliveries.used(appSecret)
    if (dailyQuota !== undefined && acked >= dailyQuota)
      return { code: 200001, reason: `exceed quota, quota: ${dailyQuota}, have acked: ${acked}` }
    return undefined
  }

  function sendOne({ request, app, frame }: Call): SimReply {
    const fields = new Map(request.form())
    const targets = (fields.get('registration_id') ?? '').split(',').filter(Boolean)
    const refusal =
      checkLimits(app) ?? checkTargets(targets) ?? checkMessage(fields, app, Date.now(), frame.hasRule)
    if (refusal) return error(refusal)
    const id = nextId('scm')
    const notifyId = fields.get('notify_id')
    if (notifyId !== undefined) notices.note(Number(notifyId), taskIdOf(fields))
    const bad = targets.filter((token) => !accept(id, token, fields, frame))
    return sent(id, targets.length, bad, app, fields.get('time_to_live'))
  }

  /** Takes one regid per call: how several are written is not documented. */
  function revoke({ request, app }: Call): SimReply {
    const form = request.form()
    const fields = new Map(form)
    const tokens = form.getAll('registration_ids')
    const refusal =
      checkLimits(app) ??
      checkRevoke(fields, app) ??
      (tokens.length === 1 && regid.test(tokens[0]!)
        ? undefined
        : { code: 10017, reason: 'Invalid parameter value: registration_ids' })
    if (refusal) return error(refusal)
    return notices.withdraw(Number(fields.get('notify_id')), tokens[0]!)
      ? ok({})
      : error({ code: 22103, reason: 'no such notification' })
  }

  function sendMany({ request, app, frame }: Call): SimReply {
    const limited = checkLimits(app)
    if (limited) return error(limited)
    const entries = readEntries(request.form().get('messages'))
    if (!entries) return error({ code: 10016, reason: 'messages is missing or not a JSON array' })
    const refusal =
      checkTargets(entries.map((entry) => entry.target)) ??
      entries.reduce<Refusal | undefined>(
        (found, entry) => found ?? checkMessage(entry.fields, app, Date.now(), frame.hasRule),
        undefined,
      )
    if (refusal) return error(refusal)
    const id = nextId('scm')
    const bad = entries
      .filter(({ target, fields }) => !accept(id, target, fields, frame))
      .map(({ target }) => target)
    return sent(id, entries.length, bad, app, undefined)
  }

  function sent(id: string, count: number, bad: string[], app: XiaomiSimApp, ttl?: string): SimReply {
    const good = count - bad.length
    if (good === 0) return error({ code: 20301, reason: 'No valid targets!' })
    deliveries.add(app.appSecret, good)
    traced.set(id, { at: Date.now(), resolved: good, invalid: bad.length, ttl: ttl ?? '86400000' })
    if (traced.size > maxTraced) traced.delete(traced.keys().next().value!)
    const { dailyQuota } = app.switches ?? {}
    return ok(
      {
        id,
        bad_regids: bad.length > 0 ? bad.join(',') : undefined,
        day_quota: dailyQuota === undefined ? undefined : String(dailyQuota),
        day_acked: dailyQuota === undefined ? undefined : String(deliveries.used(app.appSecret)),
      },
      `Received push messages for ${good} REGID`,
    )
  }

  function accept(
    messageId: string,
    token: string,
    fields: ReadonlyMap<string, string>,
    frame: SimFrame,
  ): boolean {
    if (!regid.test(token.trim()) || !frame.isAlive(token)) return false
    frame.accepted.record(taskIdOf(fields), token)
    const url = fields.get('extra.callback')
    const isTimed = fields.has('time_to_send')
    if (url && !isTimed && !frame.faults.silentReceipts) {
      const wanted = subscribedTypes(fields.get('extra.callback.type'))
      const preset = presetTypes.get(token) ?? 1
      for (const type of preset === 2 ? [1, 2] : [preset])
        if (wanted & type)
          poster.push(url, {
            messageId,
            type,
            token,
            param: fields.get('extra.callback.param'),
            jobkey: fields.get('extra.jobkey'),
            at: Date.now(),
          })
    }
    return true
  }

  function readQuota({ app: { appSecret, switches } }: Call): SimReply {
    const quota = switches?.dailyQuota ?? 0
    return ok({ data: { day_quota: String(quota), day_acked: String(deliveries.used(appSecret)) } })
  }

  function readStatus({ request }: Call): SimReply {
    const id = request.query.get('msg_id') ?? ''
    const message = traced.get(id)
    if (!message) return error({ code: 10017, reason: 'Invalid parameter value: msg_id' })
    return ok({
      data: {
        id,
        create_timestamp: message.at,
        msg_type: 'Common',
        time_to_live: `${Math.floor(Number(message.ttl) / 1000)}s`,
        resolved: message.resolved,
        delivered: message.resolved,
        delivery_rate: '100%',
        click: 0,
        click_rate: '0%',
        invalid_target: message.invalid,
      },
    })
  }

  const form = (answer: (call: Call) => SimReply): SimRoute<XiaomiSimApp> => ({
    answer,
    media: {
      type: 'application/x-www-form-urlencoded',
      refusal: error({ code: 10012, reason: 'Illegal request: a form is expected' }),
    },
  })
  const routes = {
    'POST /v2/message/regid': form(sendOne),
    'POST /v3/message/regid': form(sendOne),
    'POST /v4/message/regid': form(sendOne),
    'POST /v2/multi_messages/regids': form(sendMany),
    'POST /v1/message/regid/revoke': form(revoke),
    'GET /v1/trace/quota/get': { answer: readQuota },
    'GET /v1/trace/message/status': { answer: readStatus },
  }

  const frame = await startSimServer({
    port: options.port,
    registry: options.registry,
    rules: optionalRules,
    routes,
    authenticate,
    throttled: ({ method }) =>
      method === 'POST' ? error({ code: 200002, reason: 'QPS limit exceeded' }) : undefined,
    unavailable: () => ({ status: 500, headers: { 'content-type': 'text/html' }, body: '<h1>500</h1>' }),
    onReset() {
      presetTypes.clear()
      calls.clear()
      deliveries.clear()
      notices.clear()
    },
    onClose: () => poster.close(),
  })
  const notices = openNotices(frame.accepted)
  return Object.assign(frame, {
    withdrawn: (notifyId: number) => notices.withdrawn(notifyId),
    setSwitches(switches: XiaomiSimSwitches, appSecret?: string) {
      for (const [secret, app] of apps)
        if (appSecret === undefined || secret === appSecret) apps.set(secret, { ...app, switches })
    },
    setReceipt(tokens: Iterable<string>, type: number) {
      for (const token of tokens) presetTypes.set(token, type)
    },
    receiptsPosted: () => poster.drained(),
  })
}

type Call = SimCall & { app: XiaomiSimApp }

/** Base64 text, usually of 64 characters. */
const regid = /^[A-Za-z0-9+/]{20,}={0,2}$/

function checkTargets(targets: readonly string[]): Refusal | undefined {
  if (targets.length === 0) return { code: 10016, reason: 'registration_id is missing' }
  if (targets.length > maxTargets)
    return { code: 10017, reason: `at most ${maxTargets} registration ids in one request` }
  return undefined
}

function readEntries(text: string | null): { target: string; fields: Map<string, string> }[] | undefined {
  const wrapped = parseObject(`{"messages":${text ?? 'null'}}`)
  if (!Array.isArray(wrapped?.messages)) return undefined
  const entries: { target: string; fields: Map<string, string> }[] = []
  for (const entry of wrapped.messages as { target?: unknown; message?: unknown }[]) {
    if (typeof entry?.target !== 'string' || typeof entry.message !== 'object' || entry.message === null)
      return undefined
    entries.push({ target: entry.target, fields: flattenMessage(entry.message as Record<string, unknown>) })
  }
  return entries
}

/** Parsed once per message, not once per target. */
const taskIds = new WeakMap<ReadonlyMap<string, string>, { id: string | undefined }>()

function taskIdOf(fields: ReadonlyMap<string, string>): string | undefined {
  let read = taskIds.get(fields)
  if (!read) {
    const id = parseObject(fields.get('payload') ?? '')?.task_id ?? fields.get('extra.callback.param')
    read = { id: typeof id === 'string' && /^\d+$/.test(id) ? id : undefined }
    taskIds.set(fields, read)
  }
  return read.id
}
