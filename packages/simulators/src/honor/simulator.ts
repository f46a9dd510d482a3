import { randomUUID } from 'node:crypto'
import { bySecond, byShanghaiDay, openRateMeter } from '../frame/rate.ts'
import { openReceiptPoster } from '../frame/receipts.ts'
import { type SimCall, type SimReply, type SimRequest, startSimServer } from '../frame/server.ts'
import type { Simulator } from '../simulator.ts'
import { type HonorCredential, openHonorAuth } from './auth.ts'
import { checkHonor, type HonorMessage } from './rules.ts'

export type HonorSimulatorOptions = {
  port?: number
  /** The registered apps. */
  credentials?: readonly HonorCredential[]
  /** Accepts every client id, secret and app, for load tests. */
  acceptAnyCredentials?: boolean
  /** Accepts credentials that it does not know if they are well-formed; those that it knows are still checked. */
  acceptUnknownCredentials?: boolean
  /** Lifetime of access tokens in seconds. */
  expiresIn?: number
  /** Serves only the older token path, as some gateways do. */
  olderAuthPath?: boolean
  /** The code of success. Clients must accept each of them, as a number and as a string. */
  successCode?: 200 | 0 | 80000000
  textCodes?: boolean
  /** Maximum difference in ms between the `timestamp` header and the clock; unlimited by default. */
  maxSkewMs?: number
  /** Maximum number of devices per second and app, above which it replies 503 or 429; unlimited by default. */
  devicesPerSecond?: number
  throttleStatus?: 503 | 429
  /** Maximum number of marketing messages per device and day; more are accepted and not delivered. Unlimited by default. */
  marketingPerDay?: number
  /** The only tokens that are alive; by default all are. */
  registry?: Iterable<string>
  receipts?: readonly HonorReceiptAddress[]
  /** Called for every send with valid credentials. */
  onSend?(send: { path: string; headers: Readonly<Record<string, string>>; body: string }): void
  now?(): number
}

/** The receipt URL of an app, as set in Honor's console. */
type HonorReceiptAddress = { appId: string; url: string }

export type HonorSimulator = Simulator & {
  kill(tokens: Iterable<string>): void
  registerReceipts(address: HonorReceiptAddress): void
  /** Resolves when all receipts so far were posted. */
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

/**
 * Names of the fault `rules`. The first two are in some transcriptions of the reference only. `dead_is_404`: a request with one dead
 * token gets code 404, as one client reads it.
 */
const rules = ['big_text_equals_body', 'no_marketing_pictures', 'no_pictures', 'dead_is_404'] as const

const isSend = (path: string) => path.endsWith('/sendMessage')

/** Prefixes of tokens with a preset result; all other tokens are alive and get the message. */
const presetPrefix = /^(EXPIRED|FAIL|NORECEIPT|BADRCPT)/
/** Only 40000002 was observed; the other two are examples of codes for "not delivered". */
const delivered = 40000002
const overCap = 40000007
const unknownStatus = 49999999

/** Honor Push as far as it is documented: the token endpoint and sendMessage on one port. */
export async function startHonorSimulator(options: HonorSimulatorOptions = {}): Promise<HonorSimulator> {
  const now = options.now ?? Date.now
  const auth = openHonorAuth({
    credentials: options.credentials ?? [],
    acceptAny: options.acceptAnyCredentials ?? false,
    acceptUnknown: options.acceptUnknownCredentials ?? false,
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
    rules,
    routes: {
      ...(options.olderAuthPath ? {} : { 'POST /auth/token': { open: issueToken } }),
      'POST /auth/realms/developer/protocol/openid-connect/token': { open: issueToken },
      'POST /api/v1/{appId}/sendMessage': { answer: send },
    },
    authenticate({ request, params, frame }) {
      const refused = auth.refuse(request, params.appId!, frame.faults)
      return refused
        ? { refused: refusal(refused.status, refused.code, refused.message) }
        : { appId: params.appId! }
    },
    wrongMethod: { status: 405, body: '' },
    throttled: ({ path }) => (isSend(path) ? slowDown : undefined),
    unavailable: ({ path }) =>
      isSend(path) ? refusal(500, 81000001, 'internal error') : { status: 500, body: '' },
    onReset() {
      auth.reset()
      devices.clear()
      marketing.clear()
    },
    onClose: () => poster.close(),
  })

  function issueToken({ request, frame }: SimCall): SimReply {
    return auth.token(request, frame.faults)
  }

  function send({ request, app: { appId } }: SimCall & { app: { appId: string } }): SimReply {
    options.onSend?.({ path: request.path, headers: request.headers, body: request.body })
    const problem = headerProblem(request)
    if (problem) return refusal(400, 80100001, problem)
    const checked = checkHonor(request.json(), Buffer.byteLength(request.body), {
      bigTextEqualsBody: frame.hasRule('big_text_equals_body'),
      noMarketingPictures: frame.hasRule('no_marketing_pictures'),
      noPictures: frame.hasRule('no_pictures'),
    })
    if ('code' in checked) return refusal(400, checked.code, checked.message)
    if (!devices.take(appId, checked.tokens.length)) return slowDown
    return accept(checked, appId)
  }

  function headerProblem({ headers, mediaType }: SimRequest): string | undefined {
    const { timestamp } = headers
    if (!timestamp) return 'timestamp missing'
    if (!/^\d{13}$/.test(timestamp)) return 'timestamp must be milliseconds'
    if (options.maxSkewMs !== undefined && Math.abs(Number(timestamp) - now()) > options.maxSkewMs)
      return 'timestamp too far away'
    return mediaType === 'application/json' ? undefined : 'content type must be application/json'
  }

  function accept(message: HonorMessage, appId: string): SimReply {
    const requestId = randomUUID()
    const url = frame.faults.silentReceipts ? undefined : addresses.get(appId)
    const failTokens: string[] = []
    const expireTokens: string[] = []
    for (const token of message.tokens) {
      const preset = presetPrefix.exec(token)?.[1]
      if (preset === 'FAIL') failTokens.push(token)
      else if (preset === 'EXPIRED' || !frame.isAlive(token)) expireTokens.push(token)
      else {
        frame.accepted.record(message.biTag, token)
        const status = statusOf(message, preset, token, appId)
        if (url && preset !== 'NORECEIPT')
          poster.push(url, { biTag: message.biTag, appid: appId, token, status, timestamp: now(), requestId })
      }
    }
    if (expireTokens.length === 1 && message.tokens.length === 1 && frame.hasRule('dead_is_404'))
      return refusal(404, 404, 'device token invalid')
    const data = { sendResult: true, requestId, failTokens, expireTokens }
    if (expireTokens.length + failTokens.length < message.tokens.length)
      return { body: { code: coded(options.successCode ?? 200), message: 'success', data } }
    const none = { ...data, sendResult: false }
    return { body: { code: coded(80300007), message: 'all tokens invalid', data: none } }
  }

  function statusOf(message: HonorMessage, preset: string | undefined, token: string, appId: string): number {
    if (preset === 'BADRCPT') return unknownStatus
    // Test messages do not count towards the cap.
    if (message.marketing && !message.test && !marketing.take(`${appId} ${token}`, 1)) return overCap
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

/** The number of entries per post is not documented; up to a thousand were observed. */
function writeReceipts(receipts: Receipt[]) {
  const posts = []
  for (let from = 0; from < receipts.length; from += 1000)
    posts.push({
      headers: { 'content-type': 'application/json;charset=UTF-8' },
      body: JSON.stringify({ statuses: receipts.slice(from, from + 1000) }),
    })
  return posts
}
