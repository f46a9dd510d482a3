import { randomBytes } from 'node:crypto'
import { parseObject, readNumber } from '../frame/fields.ts'
import { bySecond, byShanghaiDay, openRateMeter } from '../frame/rate.ts'
import { openReceiptPoster } from '../frame/receipts.ts'
import { type SimCall, type SimFrame, type SimReply, type SimRoute, startSimServer } from '../frame/server.ts'
import type { Simulator } from '../simulator.ts'
import { openTokenIssuer } from './auth.ts'
import {
  bad,
  checkNotification,
  missing,
  type OppoSimApp,
  type OppoSimSwitches,
  optionalRules,
  type Refusal,
  refusal,
} from './rules.ts'

export type { OppoSimApp, OppoSimSwitches }

export type OppoSimulatorOptions = {
  port?: number
  /** Applications of the console; by default `sim-app-key` with `sim-master-secret`. */
  apps?: readonly OppoSimApp[]
  /** Accepts every key and signature, for load tests. */
  acceptAnyCredentials?: boolean
  /** Accepts credentials that it does not know if they are well-formed; those that it knows are still checked. */
  acceptUnknownCredentials?: boolean
  /** The only registration ids that are alive; by default every well-formed one is. */
  registry?: Iterable<string>
  /** The host of one region, which refuses registration ids of the other; by default it accepts both. */
  region?: 'cn' | 'intl'
  tokenLifeMs?: number
  newTokenVoidsOld?: boolean
}

type OppoEvent = 'push_arrive' | 'regid_invalid' | 'user_daily_limit'

export type OppoSimulator = Simulator & {
  kill(tokens: Iterable<string>): void
  /** Replaces the switches of one application, or of all applications. */
  setSwitches(switches: OppoSimSwitches, appKey?: string): void
  /** The tokens are accepted and get this receipt instead of push_arrive. */
  setReceipt(tokens: Iterable<string>, event: OppoEvent): void
  /** Resolves when all receipts so far were posted. */
  receiptsPosted(): Promise<void>
}

/** The two forms that the vendor's own SDK accepts. */
const registrationId = /^(?:(?:[0-9A-Za-z]{2,10}_)?.*_)?[0-9a-fA-F]{32}$|^[0-9a-fA-F]{24}$/

const dayMs = 86_400_000
const maxEntries = 1000
const maxSaved = 1000
/** Maximum number of app_message_ids kept to deliver each one once; older ones are dropped. */
const maxRemembered = 200_000

type AppState = { app: OppoSimApp }
type Fields = Readonly<Record<string, unknown>>
type Call = SimCall & { app: AppState }
type Saved = { fields: Fields; state: AppState }
type ReceiptItem = {
  messageId: string
  appId: string
  taskId: string
  registrationIds: string
  eventTime: string
  param?: string
  eventType: OppoEvent
}

export async function startOppoSimulator(options: OppoSimulatorOptions = {}): Promise<OppoSimulator> {
  const states = new Map<string, AppState>()
  const defaultApp = { appId: '3000001', appKey: 'sim-app-key', masterSecret: 'sim-master-secret' }
  for (const app of options.apps ?? [defaultApp]) states.set(app.appKey, { app })
  const inSecond = openRateMeter(undefined, Date.now, bySecond)
  const inDay = openRateMeter(undefined, Date.now, byShanghaiDay)
  const presetEvents = new Map<string, OppoEvent>()
  const saved = new Map<string, Saved>()
  const remembered = new Set<string>()
  const poster = openReceiptPoster<ReceiptItem>({
    write: (items) => [{ headers: { 'content-type': 'application/json' }, body: JSON.stringify(items) }],
  })
  const tokens = openTokenIssuer<AppState>({
    find: stateOf,
    acceptAnySignature: options.acceptAnyCredentials ?? false,
    tokenLifeMs: options.tokenLifeMs ?? dayMs,
    newTokenVoidsOld: options.newTokenVoidsOld ?? false,
  })
  const idStem = randomBytes(6).toString('hex')
  let serial = 0
  const nextId = () => idStem + (serial++).toString(16).padStart(12, '0')

  function stateOf(appKey: string): AppState | undefined {
    const known = states.get(appKey)
    if (known || !(options.acceptAnyCredentials || options.acceptUnknownCredentials)) return known
    const state: AppState = { app: { ...defaultApp, appKey, masterSecret: undefined } }
    states.set(appKey, state)
    return state
  }

  function issueToken({ request, frame }: SimCall): SimReply {
    const issued = tokens.issue(request.form(), frame.faults)
    return 'code' in issued ? refuse(issued) : succeed(issued, 'success')
  }

  function authenticate({ request, frame }: SimCall): AppState | { refused: SimReply } {
    const state = tokens.admit(request.form().get('auth_token') ?? request.headers.auth_token, frame.faults)
    if ('code' in state) return { refused: refuse(state) }
    return frame.hasRule('app_disabled') ? { refused: refuse(refusal(28)) } : state
  }

  function checkLimits({ app: { appKey, switches = {} } }: AppState, count: number): Refusal | undefined {
    const { forceCode, flowControl, messagesPerSecond: perSecond, dailyLimit: perDay } = switches
    if (forceCode !== undefined) return refusal(forceCode)
    if (flowControl) return refusal(-2)
    if (perSecond !== undefined && inSecond.used(appKey) + count > perSecond) return refusal(13)
    inSecond.add(appKey, count)
    return perDay !== undefined && inDay.used(appKey) + count > perDay ? refusal(33) : undefined
  }

  function unicast({ request, app: state, frame }: Call): SimReply {
    const form = request.form()
    const text = form.get('message')
    if (!text) return refuse(missing('message'))
    const message = parseObject(text)
    if (!message) return refuse(bad('message'))
    const result = checkLimits(state, 1) ?? deliver(message, state, frame)
    return 'code' in result ? refuse(result) : succeed({ messageId: result.messageId })
  }

  function batch({ request, app: state, frame }: Call): SimReply {
    const form = request.form()
    const text = form.get('messages')
    if (!text) return refuse(missing('messages'))
    const messages = parseObject(`{"messages":${text}}`)?.messages
    if (!Array.isArray(messages) || messages.length === 0 || messages.length > maxEntries)
      return refuse(bad(`messages: an array of 1 to ${maxEntries}`))
    const limited = checkLimits(state, messages.length)
    if (limited) return refuse(limited)
    return succeed(
      messages.map((message: Fields | null) => {
        const registrationId = message?.target_value
        const result = deliver(message ?? {}, state, frame)
        return 'code' in result
          ? {
              messageId: `${state.app.appId}-1-1-${nextId()}`,
              registrationId,
              errorCode: result.code,
              errorMessage: result.message,
            }
          : { messageId: result.messageId, registrationId }
      }),
    )
  }

  /** Sends one message to one target. */
  function deliver(message: Fields, state: AppState, frame: SimFrame): Refusal | { messageId: string } {
    const type = readNumber(message.target_type)
    if (type !== 2 && type !== 5) return bad('target_type')
    const target = message.target_value
    if (typeof target !== 'string' || target === '') return missing('target_value')
    const fields = message.notification
    if (typeof fields !== 'object' || fields === null) return missing('notification')
    if (type === 2 && !isTarget(target, frame)) return refusal(10000)
    const refused = checkNotification(fields as Fields, state.app, 'unicast', frame.hasRule)
    if (refused) return refused
    const messageId = `${state.app.appId}-1-1-${nextId()}`
    push(fields as Fields, target, messageId, messageId, state, frame)
    return { messageId }
  }

  function save({ request, app: state, frame }: Call): SimReply {
    const fields = Object.fromEntries(request.form())
    const refused = checkLimits(state, 0) ?? checkNotification(fields, state.app, 'save', frame.hasRule)
    if (refused) return refuse(refused)
    const { app_message_id: ownId } = fields
    if (ownId && !remember(`${state.app.appKey} ${ownId} saved`)) return refuse(refusal(32))
    const id = nextId()
    if (saved.size >= maxSaved) saved.delete(saved.keys().next().value!)
    saved.set(id, { fields, state })
    return succeed({ message_id: id }, 'success')
  }

  function broadcast({ request, app: state, frame }: Call): SimReply {
    const form = request.form()
    const messageId = form.get('message_id')
    if (!messageId) return refuse(missing('message_id'))
    const type = readNumber(form.get('target_type'))
    if (type === undefined || ![1, 2, 5, 6].includes(type)) return refuse(bad('target_type'))
    const content = saved.get(messageId)
    if (!content || content.state !== state) return refuse(refusal(31))
    const targets = (form.get('target_value') ?? '').split(';').filter(Boolean)
    if (type !== 1 && targets.length === 0) return refuse(missing('target_value'))
    if (targets.length > maxEntries) return refuse(bad('target_value'))
    const limited = checkLimits(state, targets.length)
    if (limited) return refuse(limited)
    const taskId = nextId()
    const refused: string[] = []
    if (type === 2)
      for (const target of targets) {
        if (isTarget(target, frame)) push(content.fields, target, messageId, taskId, state, frame)
        else refused.push(target)
      }
    const errors = refused.length > 0 ? { 10000: refused } : {}
    return succeed({ message_id: messageId, task_id: taskId, ...errors }, 'success')
  }

  function push(
    fields: Fields,
    token: string,
    messageId: string,
    taskId: string,
    state: AppState,
    frame: SimFrame,
  ): void {
    const { app } = state
    frame.accepted.record(taskIdOf(fields), token)
    inDay.add(app.appKey, 1)
    const ownId = fields.app_message_id
    if (typeof ownId === 'string' && !remember(`${app.appKey} ${ownId} ${token}`)) return
    const isShown = !app.channels || !fields.channel_id || app.channels.includes(String(fields.channel_id))
    const url = fields.call_back_url
    if (!isShown || typeof url !== 'string' || url === '' || frame.faults.silentReceipts) return
    poster.push(url, {
      messageId,
      appId: app.appId,
      taskId,
      registrationIds: token,
      eventTime: String(Date.now()),
      param: fields.call_back_parameter as string | undefined,
      eventType: presetEvents.get(token) ?? 'push_arrive',
    })
  }

  function isTarget(token: string, frame: SimFrame): boolean {
    const isHere = options.region === undefined || isMainland(token) === (options.region === 'cn')
    return registrationId.test(token) && !/[\s,;]/.test(token) && isHere && frame.isAlive(token)
  }

  /** Returns false if it was remembered before. */
  function remember(key: string): boolean {
    if (remembered.has(key)) return false
    if (remembered.size >= maxRemembered) remembered.delete(remembered.values().next().value!)
    remembered.add(key)
    return true
  }

  const media = { type: 'application/x-www-form-urlencoded', refusal: refuse(refusal(12)) }
  const routes: Record<string, SimRoute<AppState>> = {
    'POST /server/v1/auth': { open: issueToken, media },
    'POST /server/v1/message/notification/unicast': { answer: unicast, media },
    'POST /server/v1/message/notification/unicast_batch': { answer: batch, media },
    'POST /server/v1/message/notification/save_message_content': { answer: save, media },
    'POST /server/v1/message/notification/broadcast': { answer: broadcast, media },
  }

  const frame = await startSimServer({
    port: options.port,
    registry: options.registry,
    rules: optionalRules,
    routes,
    authenticate,
    wrongMethod: media.refusal,
    throttled: ({ path }) => (path.endsWith('/auth') ? undefined : refuse(refusal(13))),
    unavailable: () => ({ status: 503, headers: { 'content-type': 'text/html' }, body: '<h1>503</h1>' }),
    onReset() {
      presetEvents.clear()
      saved.clear()
      remembered.clear()
      inSecond.clear()
      inDay.clear()
    },
    onClose: () => poster.close(),
  })
  return Object.assign(frame, {
    setSwitches(switches: OppoSimSwitches, appKey?: string) {
      for (const state of states.values())
        if (appKey === undefined || state.app.appKey === appKey) state.app = { ...state.app, switches }
    },
    setReceipt(tokens: Iterable<string>, event: OppoEvent) {
      for (const token of tokens) presetEvents.set(token, event)
    },
    receiptsPosted: () => poster.drained(),
  })
}

function succeed(data: unknown, message = 'Success'): SimReply {
  return { body: { code: 0, message, data } }
}

function refuse({ code, message }: Refusal): SimReply {
  return { body: { code, message } }
}

/** One part, `CN_…` or `OPPO_CN_…`; every other registration id is overseas. */
function isMainland(token: string): boolean {
  return /^(([^_]*_)?CN_)?[^_]*$/.test(token)
}

/** A batch repeats the same parameters for a thousand targets; they are parsed once. */
let lastParameters = ''
let lastTaskId: string | undefined

/**
 * What the app reads. Behind a URL, parameters are its query: behind the `end` of an intent they are lost, so there the extras of
 * the intent count.
 */
function taskIdOf(fields: Fields): string | undefined {
  // A web page gets no parameters; the id of the message begins with that of the task.
  if (readNumber(fields.click_action_type) === 2) return /^\d+/.exec(String(fields.app_message_id ?? ''))?.[0]
  const url = fields.click_action_url
  if (readNumber(fields.click_action_type) === 5 && typeof url === 'string')
    return /^\d+/.exec(url.split(';S.task_id=').slice(1).at(-1) ?? '')?.[0]
  const parameters = typeof fields.action_parameters === 'string' ? fields.action_parameters : '{}'
  if (parameters !== lastParameters) {
    const id = parseObject(parameters)?.task_id
    lastParameters = parameters
    lastTaskId = typeof id === 'string' && /^\d+$/.test(id) ? id : undefined
  }
  return lastTaskId
}
