import { randomBytes } from 'node:crypto'
import { parseObject } from '../shared/http.ts'
import { bySecond, byShanghaiDay, openRateMeter } from '../shared/sim-rate.ts'
import { openReceiptPoster } from '../shared/sim-receipts.ts'
import { type SimFrame, type SimReply, type SimRequest, startSimServer } from '../shared/sim-server.ts'
import type { Simulator } from '../simulator.ts'
import { authPath, batchPath, unicastPath } from './request.ts'
import { openAuthDesk } from './simulator-auth.ts'
import {
  bad,
  checkNotification,
  missing,
  type OppoSimApp,
  type OppoSimSwitches,
  type Refusal,
  readNumber,
  refusal,
} from './simulator-rules.ts'
import { checkToken } from './token.ts'

export type { OppoSimApp, OppoSimSwitches }

export type OppoSimulatorOptions = {
  port?: number
  /** Applications of the console; absent: `sim-app-key` with `sim-master-secret`. */
  apps?: readonly OppoSimApp[]
  /** Any key and signature is an application, for load tests. */
  acceptAnyCredentials?: boolean
  /** The only registration ids alive; absent: every well-formed one is. */
  registry?: Iterable<string>
  tokenLifeMs?: number
  newTokenVoidsOld?: boolean
}

type OppoEvent = 'push_arrive' | 'regid_invalid' | 'user_daily_limit'

export type OppoSimulator = Simulator & {
  kill(tokens: Iterable<string>): void
  /** Replaces the switches of one application, or of all. */
  setSwitches(switches: OppoSimSwitches, appKey?: string): void
  /** Accepted, then this receipt instead of push_arrive. */
  setReceipt(tokens: Iterable<string>, event: OppoEvent): void
  /** Resolves when all receipts so far were posted. */
  receiptsSent(): Promise<void>
}

const savePath = '/server/v1/message/notification/save_message_content'
const broadcastPath = '/server/v1/message/notification/broadcast'
const paths: ReadonlySet<string> = new Set([authPath, unicastPath, batchPath, savePath, broadcastPath])

const dayMs = 86_400_000
const mostEntries = 1000
const mostSaved = 1000
/** Remembered for “same app_message_id, pushed once”; older ones are forgotten. */
const mostRemembered = 200_000

type AppState = { app: OppoSimApp }
type Fields = Readonly<Record<string, unknown>>
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
  const fates = new Map<string, OppoEvent>()
  const saved = new Map<string, Saved>()
  const remembered = new Set<string>()
  const poster = openReceiptPoster<ReceiptItem>({
    write: (items) => [{ headers: { 'content-type': 'application/json' }, body: JSON.stringify(items) }],
  })
  const desk = openAuthDesk<AppState>({
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
    if (known || !options.acceptAnyCredentials) return known
    const state = { app: { ...defaultApp, appKey } }
    states.set(appKey, state)
    return state
  }

  function answer(request: SimRequest, frame: SimFrame): SimReply {
    if (!paths.has(request.path)) return { status: 404, body: 'Not Found' }
    if (request.method !== 'POST' || request.mediaType !== 'application/x-www-form-urlencoded')
      return refuse(refusal(12))
    const form = request.form()
    if (request.path === authPath) {
      const issued = desk.issue(form, frame.faults)
      return 'code' in issued ? refuse(issued) : succeed(issued, 'success')
    }
    const state = desk.admit(form.get('auth_token') ?? request.headers.auth_token, frame.faults)
    if ('code' in state) return refuse(state)
    switch (request.path) {
      case unicastPath:
        return unicast(form, state, frame)
      case batchPath:
        return batch(form, state, frame)
      case savePath:
        return save(form, state)
      default:
        return broadcast(form, state, frame)
    }
  }

  function checkLimits({ app: { appKey, switches = {} } }: AppState, count: number): Refusal | undefined {
    const { forceCode, flowControl, messagesPerSecond: perSecond, dailyLimit: perDay } = switches
    if (forceCode !== undefined) return refusal(forceCode)
    if (flowControl) return refusal(-2)
    if (perSecond !== undefined && inSecond.used(appKey) + count > perSecond) return refusal(13)
    inSecond.add(appKey, count)
    return perDay !== undefined && inDay.used(appKey) + count > perDay ? refusal(33) : undefined
  }

  function unicast(form: URLSearchParams, state: AppState, frame: SimFrame): SimReply {
    const text = form.get('message')
    if (!text) return refuse(missing('message'))
    const message = parseObject(text)
    if (!message) return refuse(bad('message'))
    const result = checkLimits(state, 1) ?? deliver(message, state, frame)
    return 'code' in result ? refuse(result) : succeed({ messageId: result.messageId })
  }

  function batch(form: URLSearchParams, state: AppState, frame: SimFrame): SimReply {
    const text = form.get('messages')
    if (!text) return refuse(missing('messages'))
    const messages = parseObject(`{"messages":${text}}`)?.messages
    if (!Array.isArray(messages) || messages.length === 0 || messages.length > mostEntries)
      return refuse(bad(`messages: an array of 1 to ${mostEntries}`))
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

  /** One message to one target: refused, or accepted with a receipt on its way. */
  function deliver(message: Fields, state: AppState, frame: SimFrame): Refusal | { messageId: string } {
    const type = readNumber(message.target_type)
    if (type !== 2 && type !== 5) return bad('target_type')
    const target = message.target_value
    if (typeof target !== 'string' || target === '') return missing('target_value')
    const fields = message.notification
    if (typeof fields !== 'object' || fields === null) return missing('notification')
    if (type === 2 && !isTarget(target, frame)) return refusal(10000)
    const refused = checkNotification(fields as Fields, state.app, 'unicast')
    if (refused) return refused
    const messageId = `${state.app.appId}-1-1-${nextId()}`
    push(fields as Fields, target, messageId, messageId, state, frame)
    return { messageId }
  }

  function save(form: URLSearchParams, state: AppState): SimReply {
    const fields = Object.fromEntries(form)
    const refused = checkLimits(state, 0) ?? checkNotification(fields, state.app, 'save')
    if (refused) return refuse(refused)
    const { app_message_id: ownId } = fields
    if (ownId && !remember(`${state.app.appKey} ${ownId} saved`)) return refuse(refusal(32))
    const id = nextId()
    if (saved.size >= mostSaved) saved.delete(saved.keys().next().value!)
    saved.set(id, { fields, state })
    return succeed({ message_id: id }, 'success')
  }

  function broadcast(form: URLSearchParams, state: AppState, frame: SimFrame): SimReply {
    const messageId = form.get('message_id')
    if (!messageId) return refuse(missing('message_id'))
    const type = readNumber(form.get('target_type'))
    if (type === undefined || ![1, 2, 5, 6].includes(type)) return refuse(bad('target_type'))
    const content = saved.get(messageId)
    if (!content || content.state !== state) return refuse(refusal(31))
    const targets = (form.get('target_value') ?? '').split(';').filter(Boolean)
    if (type !== 1 && targets.length === 0) return refuse(missing('target_value'))
    if (targets.length > mostEntries) return refuse(bad('target_value'))
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
    frame.book.record(taskIdOf(fields), token)
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
      eventType: fates.get(token) ?? 'push_arrive',
    })
  }

  /** False when it was there before. */
  function remember(key: string): boolean {
    if (remembered.has(key)) return false
    if (remembered.size >= mostRemembered) remembered.delete(remembered.values().next().value!)
    remembered.add(key)
    return true
  }

  const frame = await startSimServer({
    port: options.port,
    registry: options.registry,
    answer,
    throttled: (request) => (request.path === authPath ? undefined : refuse(refusal(13))),
    unavailable: () => ({ status: 503, headers: { 'content-type': 'text/html' }, body: '<h1>503</h1>' }),
    onReset() {
      fates.clear()
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
      for (const token of tokens) fates.set(token, event)
    },
    receiptsSent: () => poster.drained(),
  })
}

function succeed(data: unknown, message = 'Success'): SimReply {
  return { body: { code: 0, message, data } }
}

function refuse({ code, message }: Refusal): SimReply {
  return { body: { code, message } }
}

function isTarget(token: string, frame: SimFrame): boolean {
  return checkToken(token) === undefined && frame.isAlive(token)
}

/** A batch repeats the same parameters for a thousand targets; they are read once. */
let lastParameters = ''
let lastTaskId: string | undefined

function taskIdOf(fields: Fields): string | undefined {
  const parameters = typeof fields.action_parameters === 'string' ? fields.action_parameters : '{}'
  if (parameters !== lastParameters) {
    const id = parseObject(parameters)?.task_id
    lastParameters = parameters
    lastTaskId = typeof id === 'string' && /^\d+$/.test(id) ? id : undefined
  }
  return lastTaskId
}
