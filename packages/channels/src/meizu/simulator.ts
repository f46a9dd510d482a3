import { createHash, randomUUID } from 'node:crypto'
import { parseObject } from '../shared/http.ts'
import { isObject } from '../shared/sim-checks.ts'
import { byMinute, bySecond, byShanghaiDay, openRateMeter } from '../shared/sim-rate.ts'
import { openReceiptPoster } from '../shared/sim-receipts.ts'
import { type SimFrame, type SimReply, type SimRequest, startSimServer } from '../shared/sim-server.ts'
import type { Simulator } from '../simulator.ts'
import { signOf } from './sign.ts'
import { type ReceiptItem, writeReceipts } from './simulator-receipts.ts'
import { findNoticeFault, findPassThroughFault } from './simulator-rules.ts'
import { checkToken } from './token.ts'

type MeizuCredential = {
  appId: number | string
  appSecret: string
  vip?: boolean
  /** Pass-through is open to it; otherwise 110053. */
  passThrough?: boolean
}

export type MeizuSimulatorOptions = {
  port?: number
  /** Applications that exist. */
  credentials?: readonly MeizuCredential[]
  /** Any appId and sign is good, and any receipt address, for load tests. */
  acceptAnyCredentials?: boolean
  /** The only pushIds alive; absent: any well-formed one is. */
  registry?: Iterable<string>
  /** Unix ms; the simulator's only clock. */
  now?(): number
  /** Messages a minute, application and device before they are folded (520); 5 unless told, Infinity for none. */
  foldPerMinute?: number
  /** Public messages a day, application and device (110011); none unless told, 3 by relays' word. */
  publicPerDay?: number
  /** Targets a second and application (110010); none unless told, 200 by a relay's word. */
  targetsPerSecond?: number
  /** Targets a day and application (110019); none unless told. */
  targetsPerDay?: number
  receiptDelayMs?: number
}

export type MeizuSimulator = Simulator & {
  kill(tokens: Iterable<string>): void
  /** A receipt address as entered in the console, with the token that Meizu sends along. */
  registerReceipts(address: { appId: number | string; url: string; accessToken?: string }): void
  /** Answers every push with this top-level code, e.g. 110009; undefined ends it. */
  forceCode(code: string | undefined): void
  /** Resolves when the receipts of all pushes so far have been called back. */
  receiptsPosted(): Promise<void>
}

type Fields = Readonly<Record<string, string>>
type Message = Record<string, unknown>
type AppState = MeizuCredential & { receipts: Map<string, string> }
type Answer = { code: string; message: string; value: unknown; msgId?: string; redirect?: string }
type Target = 'pushIds' | 'alias'

const root = '/garcia/api/server/push'
/** `magic513000…` is answered with 513, and so on. */
const magic = /^magic(110002|110003|110010|110011|201|501|513|518|519|520)0*$/

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

  type Serve = (fields: Fields, app: AppState, frame: SimFrame) => Answer
  const routes: Readonly<Record<string, { method: 'GET' | 'POST'; needs: string[]; serve: Serve }>> = {
    '/varnished/pushByPushId': pushRoute('pushIds', notice),
    '/varnished/pushByAlias': pushRoute('alias', notice),
    '/unvarnished/pushByPushId': pushRoute('pushIds', passThrough),
    '/unvarnished/pushByAlias': pushRoute('alias', passThrough),
    '/pushTask/getTaskId': { method: 'POST', needs: ['pushType', 'messageJson'], serve: openTask },
    '/task/varnished/pushByPushId': taskRoute('pushIds'),
    '/task/varnished/pushByAlias': taskRoute('alias'),
    '/uploadImg': { method: 'POST', needs: ['imgType', 'imgUrl'], serve: uploadImage },
    '/statistics/dailyPushStatics': {
      method: 'GET',
      needs: ['startTime', 'endTime'],
      serve: dailyStatistics,
    },
  }

  function answer(request: SimRequest, frame: SimFrame): SimReply {
    const route = request.path.startsWith(root) ? routes[request.path.slice(root.length)] : undefined
    if (!route) return { status: 404, body: 'Not Found' }
    if (request.method !== route.method) return { status: 405, body: 'Method Not Allowed' }
    if (route.method === 'POST' && request.mediaType !== 'application/x-www-form-urlencoded')
      return { status: 415, body: 'Unsupported Media Type' }
    const fields = Object.fromEntries(route.method === 'GET' ? request.query : request.form())
    for (const name of ['appId', ...route.needs, 'sign'])
      if (!fields[name]) return { body: fail('110004', `参数不能为空: ${name}`) }
    const app = appOf(fields.appId!)
    if (!app) return { body: fail('110000', 'appId不合法') }
    const signed = options.acceptAnyCredentials || signOf(fields, app.appSecret) === fields.sign
    if (!signed || frame.faults.refuseAuth) return { body: fail('1006', '签名认证失败') }
    return { body: route.serve(fields, app, frame) }
  }

  function appOf(appId: string): AppState | undefined {
    const known = apps.get(appId)
    if (known || !options.acceptAnyCredentials) return known
    const made = { appId, appSecret: '', receipts: new Map<string, string>() }
    apps.set(appId, made)
    return made
  }

  function pushRoute(target: Target, find: (message: Message, app: AppState) => Answer | undefined) {
    const serve: Serve = (fields, app, frame) => {
      const message = parseObject(fields.messageJson!)
      if (!message) return fail('1005', '参数错误，请参考API文档: messageJson')
      return find(message, app) ?? push(fields[target]!, target, message, app, frame, true)
    }
    return { method: 'POST' as const, needs: [target, 'messageJson'], serve }
  }

  /** Task pushes have counters instead of receipts. */
  function taskRoute(target: Target) {
    const serve: Serve = (fields, app, frame) => {
      const task = tasks.get(fields.taskId!)
      if (task?.app !== app) return fail('110032', '非法的taskId')
      return push(fields[target]!, target, task.message, app, frame, false)
    }
    return { method: 'POST' as const, needs: [target, 'taskId'], serve }
  }

  function notice(message: Message, app: AppState): Answer | undefined {
    const fault = findNoticeFault(message, {
      vip: app.vip ?? false,
      isHosted: (url) => hosted.has(url),
      isRegistered: (url) => app.receipts.has(url) || (options.acceptAnyCredentials ?? false),
    })
    return fault && fail(fault.code, fault.message)
  }

  function passThrough(message: Message, app: AppState): Answer | undefined {
    if (!app.passThrough) return fail('110053', '透传超过限制')
    const fault = findPassThroughFault(message)
    return fault && fail(fault.code, fault.message)
  }

  function push(
    list: string,
    kind: Target,
    message: Message,
    app: AppState,
    frame: SimFrame,
    tellReceipts: boolean,
  ): Answer {
    if (forced) return fail(forced, 'forced')
    const targets = list.split(',').filter(Boolean)
    if (targets.length === 0 || targets.length > 100) return fail('1005', `参数错误，请参考API文档: ${kind}`)
    const name = String(app.appId)
    if (!rate.take(name, targets.length)) return fail('110010', '应用请求频率超过限制')
    if (!volume.take(name, targets.length)) return fail('110019', '超过该应用每天推送次数限制')
    const isPublic = isObject(message.noticeBarInfo) && message.noticeBarInfo.noticeMsgType !== 1
    const fates = Map.groupBy(targets, (target) =>
      kind === 'alias' ? aliasFate(target, frame) : fateOf(target, name, isPublic, frame),
    )
    const reached = fates.get('200') ?? []
    fates.delete('200')
    const taskId = taskIdOf(message)
    for (const target of reached) frame.book.record(taskId, target)
    const msgId = randomUUID().replaceAll('-', '')
    if (tellReceipts && !frame.faults.silentReceipts) callBack(msgId, message, app, reached)
    return { code: '200', message: '', value: Object.fromEntries(fates), msgId }
  }

  function fateOf(target: string, app: string, isPublic: boolean, frame: SimFrame): string {
    const code = magic.exec(target)?.[1]
    if (code) return code
    if (checkToken(target) !== undefined) return '110003'
    if (!frame.isAlive(target)) return '110002'
    if (isPublic && !publics.take(`${app} ${target}`, 1)) return '110011'
    return folded.take(`${app} ${target}`, 1) ? '200' : '520'
  }

  function aliasFate(alias: string, frame: SimFrame): string {
    return frame.isAlive(alias) ? '200' : '110005'
  }

  function callBack(msgId: string, message: Message, app: AppState, targets: readonly string[]): void {
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

  const frame = await startSimServer({
    port: options.port,
    registry: options.registry,
    answer,
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
      if (!app) throw new Error(`the simulator knows no Meizu application ${appId}`)
      app.receipts.set(url, accessToken)
    },
    forceCode(code: string | undefined) {
      forced = code
    },
    receiptsPosted: () => receipts.drained(),
  })
}

/** Ours stands among the parameters of a notice, or in the content of a pass-through message. */
function taskIdOf(message: Message): string | undefined {
  const click = isObject(message.clickTypeInfo) ? message.clickTypeInfo : {}
  const data = typeof message.content === 'string' ? parseObject(message.content) : click.parameters
  const taskId = isObject(data) ? data.task_id : undefined
  return typeof taskId === 'string' ? taskId : undefined
}

function succeed(value: unknown): Answer {
  return { code: '200', message: '', value, redirect: '' }
}

/** `value` is an empty text on failure, not an empty object. */
function fail(code: string, message: string): Answer {
  return { code, message, value: '', redirect: '' }
}
