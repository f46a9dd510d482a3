import { createHash, randomUUID } from 'node:crypto'
import { isObject, parseObject } from '../frame/fields.ts'
import { byMinute, bySecond, byShanghaiDay, openRateMeter } from '../frame/rate.ts'
import { openReceiptPoster } from '../frame/receipts.ts'
import { type SimCall, type SimFrame, type SimReply, type SimRoute, startSimServer } from '../frame/server.ts'
import type { Simulator } from '../simulator.ts'
import { type ReceiptItem, writeReceipts } from './receipts.ts'
import { findNoticeFault, findPassThroughFault, type Refusal } from './rules.ts'

type MeizuCredential = {
  appId: number | string
  appSecret: string
  vip?: boolean
  /** Whether pass-through is allowed; otherwise 110053. */
  passThrough?: boolean
}

export type MeizuSimulatorOptions = {
  port?: number
  /** The registered applications. */
  credentials?: readonly MeizuCredential[]
  /** Accepts every appId, sign and receipt URL, for load tests. */
  acceptAnyCredentials?: boolean
  /** Accepts credentials that it does not know if they are well-formed; those that it knows are still checked. */
  acceptUnknownCredentials?: boolean
  /** The only pushIds that are alive; by default every well-formed one is. */
  registry?: Iterable<string>
  /** The simulator's clock, in Unix ms. */
  now?(): number
  /** Messages per minute, application and device above which they are folded (520); 5 by default, Infinity for no limit. */
  foldPerMinute?: number
  /** Public messages per day, application and device (110011); unlimited by default. Relay services report 3. */
  publicPerDay?: number
  /** Targets per second and application (110010); unlimited by default. A relay service reports 200. */
  targetsPerSecond?: number
  /** Targets per day and application (110019); unlimited by default. */
  targetsPerDay?: number
  receiptDelayMs?: number
}

export type MeizuSimulator = Simulator & {
  kill(tokens: Iterable<string>): void
  /** A receipt URL as entered in the console, with the token that Meizu adds to receipts. */
  registerReceipts(address: { appId: number | string; url: string; accessToken?: string }): void
  /** Replies to every push with this top-level code, e.g. 110009, until called with undefined. */
  forceCode(code: string | undefined): void
  /** Resolves when all receipts so far were posted. */
  receiptsPosted(): Promise<void>
}

type Fields = Readonly<Record<string, string>>
type Message = Record<string, unknown>
type AppState = MeizuCredential & {
  receipts: Map<string, string>
  /** It is not among `credentials`: its signatures cannot be checked. */
  isUnknown?: true
}
type Answer = { code: string; message: string; value: unknown; msgId?: string; redirect?: string }
type Target = 'pushIds' | 'alias'

/** Where Meizu's documentation is silent: limits of texts count UTF-16 units; a bad parameter gets the code 500 instead of 1005. */
const openQuestions = ['utf16_limits', 'bad_parameter_is_500']

const root = '/garcia/api/server/push'
/** The target `preset513000…` gets the code 513, and so on. */
const presetCode = /^preset(110002|110003|110010|110011|201|501|513|518|519|520)0*$/

/** Required fields of a call in addition to appId and sign. */
const needed: Readonly<Record<string, readonly string[]>> = {
  '/varnished/pushByPushId': ['pushIds', 'messageJson'],
  '/varnished/pushByAlias': ['alias', 'messageJson'],
  '/unvarnished/pushByPushId': ['pushIds', 'messageJson'],
  '/unvarnished/pushByAlias': ['alias', 'messageJson'],
  '/pushTask/getTaskId': ['pushType', 'messageJson'],
  '/task/varnished/pushByPushId': ['pushIds', 'taskId'],
  '/task/varnished/pushByAlias': ['alias', 'taskId'],
  '/uploadImg': ['imgType', 'imgUrl'],
  '/statistics/dailyPushStatics': ['startTime', 'endTime'],
}

/** Without a comma, which would split the token in two. */
const pushId = /^[0-9A-Za-z]{16,128}$/

/**
 * https://github.com/MEIZUPUSH/PushAPI: MD5 in lower case of all parameters except `sign`, sorted by name,
 * unencoded and without separators, followed by the secret.
 */
function signatureOf(fields: Fields, appSecret: string): string {
  const pairs = Object.entries(fields)
    .filter(([name]) => name !== 'sign')
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
  return createHash('md5')
    .update(pairs.join('') + appSecret)
    .digest('hex')
}

type Serve = (fields: Fields, app: AppState, frame: SimFrame) => Answer

export async function startMeizuSimulator(options: MeizuSimulatorOptions = {}): Promise<MeizuSimulator> {
  const now = options.now ?? Date.now
  const apps = new Map<string, AppState>()
  for (const app of options.credentials ?? []) apps.set(String(app.appId), { ...app, receipts: new Map() })
  const hosted = new Set<string>()
  const tasks = new Map<string, { app: AppState; message: Message }>()
  const folded = openRateMeter(options.foldPerMinute ?? 5, now, byMinute)
  const publics = openRateMeter(options.publicPerDay, now, byShanghaiDay)
  const rate = openRateMeter(options.targetsPerSecond, now, bySecond)
  const volume = openRateMeter(options.targetsPerDay, now, byShanghaiDay)
  const receipts = openReceiptPoster<ReceiptItem>({ write: writeReceipts, delayMs: options.receiptDelayMs })
  let lastTask = 20_456
  let forced: string | undefined

  function readFields(request: SimCall['request']): Fields {
    return Object.fromEntries(request.method === 'GET' ? request.query : request.form())
  }

  /** The signature covers all fields of a call. */
  function authenticate({ request, frame }: SimCall): AppState | { refused: SimReply } {
    const refuse = (code: string, message: string) => ({ refused: { body: fail(code, message) } })
    const fields = readFields(request)
    const needs = needed[request.path.slice(root.length)] ?? []
    for (const name of ['appId', ...needs, 'sign'])
      if (!fields[name]) return refuse('110004', `参数不能为空: ${name}`)
    const app = appOf(fields.appId!)
    if (!app) return refuse('110000', 'appId不合法')
    const isSigned =
      options.acceptAnyCredentials || app.isUnknown || signatureOf(fields, app.appSecret) === fields.sign
    return isSigned && !frame.faults.refuseAuth ? app : refuse('1006', '签名认证失败')
  }

  function appOf(appId: string): AppState | undefined {
    const known = apps.get(appId)
    if (known || !(options.acceptAnyCredentials || options.acceptUnknownCredentials)) return known
    const made: AppState = { appId, appSecret: '', receipts: new Map<string, string>(), isUnknown: true }
    apps.set(appId, made)
    return made
  }

  function answer(serve: Serve): SimRoute<AppState> {
    return { answer: ({ request, app, frame }) => ({ body: serve(readFields(request), app, frame) }) }
  }

  function form(serve: Serve): SimRoute<AppState> {
    const type = 'application/x-www-form-urlencoded'
    return { ...answer(serve), media: { type, refusal: { status: 415, body: 'Unsupported Media Type' } } }
  }

  function pushRoute(target: Target, find: (message: Message, app: AppState) => Answer | undefined) {
    return form((fields, app, frame) => {
      const message = parseObject(fields.messageJson!)
      if (!message) return fail('1005', '参数错误，请参考API文档: messageJson')
      return find(message, app) ?? push(fields[target]!, target, message, app, frame, true)
    })
  }

  /** Pushes of tasks have statistics instead of receipts. */
  function taskRoute(target: Target) {
    return form((fields, app, frame) => {
      const task = tasks.get(fields.taskId!)
      if (task?.app !== app) return fail('110032', '非法的taskId')
      return push(fields[target]!, target, task.message, app, frame, false)
    })
  }

  function notice(message: Message, app: AppState): Answer | undefined {
    const fault = findNoticeFault(message, {
      vip: app.vip ?? false,
      isHosted: (url) => hosted.has(url),
      isRegistered: (url) => app.receipts.has(url) || (options.acceptAnyCredentials ?? false),
      utf16: frame.hasRule('utf16_limits'),
    })
    return fault && fail(codeOfFault(fault), fault.message)
  }

  function codeOfFault({ code }: Refusal): string {
    return frame.hasRule('bad_parameter_is_500') ? '500' : code
  }

  function passThrough(message: Message, app: AppState): Answer | undefined {
    if (!app.passThrough) return fail('110053', '透传超过限制')
    const fault = findPassThroughFault(message)
    return fault && fail(codeOfFault(fault), fault.message)
  }

  function push(
    list: string,
    kind: Target,
    message: Message,
    app: AppState,
    frame: SimFrame,
    sendReceipts: boolean,
  ): Answer {
    if (forced) return fail(forced, 'forced')
    const targets = list.split(',').filter(Boolean)
    if (targets.length === 0 || targets.length > 100) return fail('1005', `参数错误，请参考API文档: ${kind}`)
    const name = String(app.appId)
    if (!rate.take(name, targets.length)) return fail('110010', '应用请求频率超过限制')
    if (!volume.take(name, targets.length)) return fail('110019', '超过该应用每天推送次数限制')
    const isPublic = isObject(message.noticeBarInfo) && message.noticeBarInfo.noticeMsgType !== 1
    const byCode = Map.groupBy(targets, (target) =>
      kind === 'alias' ? codeOfAlias(target, frame) : codeOf(target, name, isPublic, frame),
    )
    const accepted = byCode.get('200') ?? []
    byCode.delete('200')
    const taskId = taskIdOf(message)
    for (const target of accepted) frame.accepted.record(taskId, target)
    const msgId = randomUUID().replaceAll('-', '')
    if (sendReceipts && !frame.faults.silentReceipts) postReceipts(msgId, message, app, accepted)
    return { code: '200', message: '', value: Object.fromEntries(byCode), msgId }
  }

  function codeOf(target: string, app: string, isPublic: boolean, frame: SimFrame): string {
    const code = presetCode.exec(target)?.[1]
    if (code) return code
    if (!pushId.test(target)) return '110003'
    if (!frame.isAlive(target)) return '110002'
    if (isPublic && !publics.take(`${app} ${target}`, 1)) return '110011'
    return folded.take(`${app} ${target}`, 1) ? '200' : '520'
  }

  function codeOfAlias(alias: string, frame: SimFrame): string {
    return frame.isAlive(alias) ? '200' : '110005'
  }

  function postReceipts(msgId: string, message: Message, app: AppState, targets: readonly string[]): void {
    const extra = isObject(message.extra) ? message.extra : {}
    const { callback, 'callback.param': param = '', 'callback.type': type = 3 } = extra
    if (typeof callback !== 'string' || String(type) === '2') return
    const accessToken = app.receipts.get(callback) ?? ''
    for (const target of targets)
      receipts.push(callback, { msgId, target, param: String(param), accessToken })
  }

  function openTask(fields: Fields, app: AppState): Answer {
    const message = parseObject(fields.messageJson!)
    if (!message) return fail('1005', '参数错误，请参考API文档: messageJson')
    const fault = fields.pushType === '1' ? passThrough(message, app) : notice(message, app)
    if (fault) return fault
    const taskId = ++lastTask
    tasks.set(String(taskId), { app, message })
    return succeed({ taskId, pushType: Number(fields.pushType), appId: Number(app.appId) })
  }

  function uploadImage(fields: Fields): Answer {
    if (!/^[013456]$/.test(fields.imgType!)) return fail('1005', '参数错误，请参考API文档: imgType')
    if (!/^https?:\/\/./.test(fields.imgUrl!)) return fail('1005', '参数错误，请参考API文档: imgUrl')
    const name = createHash('sha256').update(fields.imgUrl!).digest('hex').slice(0, 32)
    const imgUrl = `${frame.url}/img/${name}.png`
    hosted.add(imgUrl)
    return succeed({ imgType: Number(fields.imgType), imgUrl })
  }

  function dailyStatistics({ startTime, endTime }: Fields): Answer {
    if (!/^\d{8}$/.test(startTime!) || !/^\d{8}$/.test(endTime!))
      return fail('1005', '参数错误，请参考API文档: startTime')
    return endTime! < startTime! ? fail('500', '结束时间不能早于开始时间') : succeed([])
  }

  const routes = {
    [`POST ${root}/varnished/pushByPushId`]: pushRoute('pushIds', notice),
    [`POST ${root}/varnished/pushByAlias`]: pushRoute('alias', notice),
    [`POST ${root}/unvarnished/pushByPushId`]: pushRoute('pushIds', passThrough),
    [`POST ${root}/unvarnished/pushByAlias`]: pushRoute('alias', passThrough),
    [`POST ${root}/pushTask/getTaskId`]: form(openTask),
    [`POST ${root}/task/varnished/pushByPushId`]: taskRoute('pushIds'),
    [`POST ${root}/task/varnished/pushByAlias`]: taskRoute('alias'),
    [`POST ${root}/uploadImg`]: form(uploadImage),
    [`GET ${root}/statistics/dailyPushStatics`]: answer(dailyStatistics),
  }

  const frame = await startSimServer({
    port: options.port,
    registry: options.registry,
    rules: openQuestions,
    routes,
    authenticate,
    throttled: ({ path }) =>
      path.includes('/pushBy') ? { body: fail('110010', '应用请求频率超过限制') } : undefined,
    unavailable: () => ({ status: 503, headers: { 'content-type': 'text/html' }, body: '<html></html>' }),
    onReset() {
      tasks.clear()
      for (const meter of [folded, publics, rate, volume]) meter.clear()
      forced = undefined
    },
    onClose: () => receipts.close(),
  })
  return Object.assign(frame, {
    registerReceipts({
      appId,
      url,
      accessToken = '',
    }: {
      appId: number | string
      url: string
      accessToken?: string
    }) {
      const app = appOf(String(appId))
      if (!app) throw new Error(`there is no Meizu application ${appId}`)
      app.receipts.set(url, accessToken)
    },
    forceCode(code: string | undefined) {
      forced = code
    },
    receiptsPosted: () => receipts.drained(),
  })
}

/** Herald's task id, from the parameters of a notice or the content of a pass-through message. */
function taskIdOf(message: Message): string | undefined {
  const click = isObject(message.clickTypeInfo) ? message.clickTypeInfo : {}
  const data = typeof message.content === 'string' ? parseObject(message.content) : click.parameters
  const taskId = isObject(data) ? data.task_id : undefined
  return typeof taskId === 'string' ? taskId : undefined
}

function succeed(value: unknown): Answer {
  return { code: '200', message: '', value, redirect: '' }
}

/** On failure `value` is an empty string, not an empty object. */
function fail(code: string, message: string): Answer {
  return { code, message, value: '', redirect: '' }
}
