import { randomUUID } from 'node:crypto'
import { bySecond, byShanghaiDay, openRateMeter } from '../shared/sim-rate.ts'
import { openReceiptPoster } from '../shared/sim-receipts.ts'
import { type SimReply, type SimRequest, startSimServer } from '../shared/sim-server.ts'
import type { Simulator } from '../simulator.ts'
import { type HonorCredential, openHonorAuthDesk } from './simulator-auth.ts'
import { type HonorOrder, judgeHonor } from './simulator-rules.ts'

export type HonorSimulatorOptions = {
  port?: number
  /** The apps it knows. */
  credentials?: readonly HonorCredential[]
  /** Any client id, secret and app is good: for load. */
  acceptAnyCredentials?: boolean
  /** Seconds an access token lives. */
  expiresIn?: number
  /** The older token path alone is served, as some gateways do. */
  olderAuthPath?: boolean
  /** The code of success; clients must take each of them, as a number and as text. */
  successCode?: 200 | 0 | 80000000
  textCodes?: boolean
  /** Largest distance in ms of the `timestamp` header from the clock; unbounded when absent. */
  mostSkewMs?: number
  /** Devices a second of one app before it is told to slow down, by 503 or 429; unbounded when absent. */
  devicesPerSecond?: number
  throttleStatus?: 503 | 429
  /** Marketing messages a device takes a day; the rest is accepted and not delivered. Unbounded when absent. */
  marketingPerDay?: number
  /** The only tokens alive; absent: any token is. */
  registry?: Iterable<string>
  receipts?: readonly HonorReceiptAddress[]
  /** Sees every send that passed auth. */
  onSend?(send: { path: string; headers: Readonly<Record<string, string>>; body: string }): void
  now?(): number
}

/** Where receipts of an app go, as set once in Honor's console. */
type HonorReceiptAddress = { appId: string; url: string }

export type HonorSimulator = Simulator & {
  kill(tokens: Iterable<string>): void
  registerReceipts(address: HonorReceiptAddress): void
  /** Resolves when the receipts of everything accepted so far were posted. */
  receiptsPosted(): Promise<void>
}

type Receipt = {
  biTag?: string
  appid: string
  token: string
  status: number
  timestamp: number
  requestId: string
}

/** Tokens that begin so have a fate; all others are alive and reached. */
const magic = /^(EXPIRED|FAIL|NORECEIPT|BADRCPT)/
/** Only 40000002 is known from the field; the other two stand for "some code that is not delivered". */
const delivered = 40000002
const overCap = 40000007
const unknownStatus = 49999999

const sendPath = /^\/api\/v1\/([^/]+)\/sendMessage$/
const tokenPath = '/auth/token'
const olderTokenPath = '/auth/realms/developer/protocol/openid-connect/token'

/** Honor Push as far as it is documented: the token endpoint and sendMessage on one port. */
export async function startHonorSimulator(options: HonorSimulatorOptions = {}): Promise<HonorSimulator> {
  const now = options.now ?? Date.now
  const auth = openHonorAuthDesk({
    credentials: options.credentials ?? [],
    acceptAny: options.acceptAnyCredentials ?? false,
    expiresIn: options.expiresIn ?? 3600,
    now,
  })
  const addresses = new Map((options.receipts ?? []).map(({ appId, url }) => [appId, url]))
  const devices = openRateMeter(options.devicesPerSecond, now, bySecond)
  const marketing = openRateMeter(options.marketingPerDay, now, byShanghaiDay)
  const poster = openReceiptPoster<Receipt>({ write: writeReceipts })
  const slowDown: SimReply = { status: options.throttleStatus ?? 503, body: '' }

  const frame = await startSimServer({
    port: options.port,
    registry: options.registry,
    answer: respond,
    throttled: (request) => (sendPath.test(request.path) ? slowDown : undefined),
    unavailable: (request) =>
      sendPath.test(request.path) ? refusal(500, 81000001, 'internal error') : { status: 500, body: '' },
    onReset() {
      auth.reset()
      devices.clear()
      marketing.clear()
    },
    onClose: () => poster.close(),
  })

  function respond(request: SimRequest): SimReply {
    const { path } = request
    if (path === olderTokenPath || (path === tokenPath && !options.olderAuthPath))
      return auth.token(request, frame.faults)
    const appId = sendPath.exec(path)?.[1]
    if (!appId) return { status: 404, body: '' }
    if (request.method !== 'POST') return { status: 405, body: '' }
    const refused = auth.refuse(request, appId, frame.faults)
    if (refused) return refusal(refused.status, refused.code, refused.message)
    options.onSend?.({ path, headers: request.headers, body: request.body })
    const problem = headerProblem(request)
    if (problem) return refusal(400, 80100001, problem)
    const order = judgeHonor(request.json(), Buffer.byteLength(request.body))
    if ('code' in order) return refusal(400, order.code, order.message)
    if (!devices.take(appId, order.tokens.length)) return slowDown
    return take(order, appId)
  }

  function headerProblem({ headers, mediaType }: SimRequest): string | undefined {
    const { timestamp } = headers
    if (!timestamp) return 'timestamp missing'
    if (!/^\d{13}$/.test(timestamp)) return 'timestamp must be milliseconds'
    if (options.mostSkewMs !== undefined && Math.abs(Number(timestamp) - now()) > options.mostSkewMs)
      return 'timestamp too far away'
    return mediaType === 'application/json' ? undefined : 'content type must be application/json'
  }

  function take(order: HonorOrder, appId: string): SimReply {
    const requestId = randomUUID()
    const url = frame.faults.silentReceipts ? undefined : addresses.get(appId)
    const failTokens: string[] = []
    const expireTokens: string[] = []
    for (const token of order.tokens) {
      const fate = magic.exec(token)?.[1]
      if (fate === 'FAIL') failTokens.push(token)
      else if (fate === 'EXPIRED' || !frame.isAlive(token)) expireTokens.push(token)
      else {
        frame.book.record(order.biTag, token)
        const status = statusOf(order, fate, token, appId)
        if (url && fate !== 'NORECEIPT')
          poster.push(url, { biTag: order.biTag, appid: appId, token, status, timestamp: now(), requestId })
      }
    }
    const data = { sendResult: true, requestId, failTokens, expireTokens }
    if (expireTokens.length + failTokens.length < order.tokens.length)
      return { body: { code: coded(options.successCode ?? 200), message: 'success', data } }
    const message = 'all tokens invalid'
    return { body: { code: coded(80300007), message, data: { ...data, sendResult: false } } }
  }

  function statusOf(order: HonorOrder, fate: string | undefined, token: string, appId: string): number {
    if (fate === 'BADRCPT') return unknownStatus
    // Test messages do not count towards the cap.
    if (order.marketing && !order.test && !marketing.take(`${appId} ${token}`, 1)) return overCap
    return delivered
  }

  function refusal(status: number, code: number, message: string): SimReply {
    return { status, body: { code: coded(code), message } }
  }

  function coded(code: number): number | string {
    return options.textCodes ? String(code) : code
  }

  return Object.assign(frame, {
    registerReceipts: (address: HonorReceiptAddress) => void addresses.set(address.appId, address.url),
    receiptsPosted: () => poster.drained(),
  })
}

/** How many entries Honor puts into one post is not documented; up to a thousand is what is seen. */
function writeReceipts(receipts: Receipt[]) {
  const posts = []
  for (let from = 0; from < receipts.length; from += 1000)
    posts.push({
      headers: { 'content-type': 'application/json;charset=UTF-8' },
      body: JSON.stringify({ statuses: receipts.slice(from, from + 1000) }),
    })
  return posts
}
