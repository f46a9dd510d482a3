import { bySecond, openRateMeter } from '../shared/sim-rate.ts'
import { openReceiptPoster } from '../shared/sim-receipts.ts'
import { type SimReply, type SimRequest, startSimServer } from '../shared/sim-server.ts'
import type { Simulator } from '../simulator.ts'
import { answer, toReply } from './simulator-answers.ts'
import { type HuaweiCredential, openAuthDesk } from './simulator-auth.ts'
import { type HuaweiReceipt, type HuaweiReceiptAddress, writeReceipts } from './simulator-receipts.ts'
import { type ClassicOrder, judgeClassic } from './simulator-rules.ts'
import { judgeNext } from './simulator-rules-next.ts'

export type HuaweiSimulatorOptions = {
  port?: number
  /** The apps it knows. */
  credentials?: readonly HuaweiCredential[]
  /** Any client id, secret and service account is good: for load. */
  acceptAnyCredentials?: boolean
  /** Seconds an access token lives. */
  expiresIn?: number
  /** The apps may send HIGH urgency. */
  highUrgency?: boolean
  /** Devices a second of one app before it is told to slow down; unbounded when absent. */
  devicesPerSecond?: number
  /** The only tokens alive; absent: any token is. */
  registry?: Iterable<string>
  receipts?: readonly HuaweiReceiptAddress[]
  /** Sees every send that passed auth. */
  onSend?(send: { path: string; headers: Readonly<Record<string, string>>; body: string }): void
  now?(): number
}

export type HuaweiSimulator = Simulator & {
  kill(tokens: Iterable<string>): void
  registerReceipts(address: HuaweiReceiptAddress): void
  /** Resolves when the receipts of everything accepted so far were posted. */
  receiptsPosted(): Promise<void>
}

/** Tokens that begin so have a fate; all others are alive and reached. */
const magic = /^(ILLEGAL|NORIGHT|UNINST|MISMATCH|NOTIFYOFF|CAP)/
const statusByMagic: Readonly<Record<string, number>> = { UNINST: 2, MISMATCH: 5, NOTIFYOFF: 6, CAP: 102 }

const sendPath = /^\/(v[123])\/([^/]+)\/messages:send$/
const tokenPath = /^\/oauth2\/v[23]\/token$/

/** Huawei Push Kit as its documents describe it: the OAuth endpoint and v1, v2 and v3 of messages:send on one port. */
export async function startHuaweiSimulator(options: HuaweiSimulatorOptions = {}): Promise<HuaweiSimulator> {
  const now = options.now ?? Date.now
  const auth = openAuthDesk({
    credentials: options.credentials ?? [],
    acceptAny: options.acceptAnyCredentials ?? false,
    expiresIn: options.expiresIn ?? 3600,
    now,
  })
  const addresses: HuaweiReceiptAddress[] = [...(options.receipts ?? [])]
  const devices = openRateMeter(options.devicesPerSecond, now, bySecond)
  const poster = openReceiptPoster<HuaweiReceipt>({ write: (items) => writeReceipts(items, now()) })
  const switches = { highUrgency: options.highUrgency ?? false }
  let requests = 0

  const frame = await startSimServer({
    port: options.port,
    registry: options.registry,
    answer: respond,
    throttled: (request) => (sendPath.test(request.path) ? { status: 503, body: '' } : undefined),
    unavailable: (request) =>
      sendPath.test(request.path)
        ? toReply(answer('81000001', 'System inner error.'), nextRequestId())
        : { status: 500, body: '' },
    onReset() {
      auth.reset()
      devices.clear()
    },
    onClose: () => poster.close(),
  })

  function respond(request: SimRequest): SimReply {
    if (tokenPath.test(request.path)) return auth.token(request, frame.faults)
    const [, version, pathId] = sendPath.exec(request.path) ?? []
    if (!version || !pathId) return { status: 404, body: '' }
    if (request.method !== 'POST') return { status: 405, body: '' }
    const requestId = nextRequestId()
    const client = auth.admit(request, version, pathId, frame.faults)
    if (typeof client !== 'string') return toReply(client, requestId)
    options.onSend?.({ path: request.path, headers: request.headers, body: request.body })
    const order = judge(request, version)
    if ('code' in order) return toReply(order, requestId)
    if (!devices.take(client, order.tokens.length)) return { status: 503, body: '' }
    return take(order, client, requestId, version === 'v3')
  }

  function judge(request: SimRequest, version: string) {
    if (request.mediaType !== 'application/json') return answer('80100003', 'Illegal payload')
    if (request.body.includes('FORBIDDEN_WORD'))
      return answer('80100016', 'Anti-Spam: word is forbidden in [CONTENT]')
    const bytes = Buffer.byteLength(request.body)
    if (version !== 'v3') return judgeClassic(request.json(), bytes, switches)
    const order = judgeNext(request.json(), bytes, request.headers['push-type'])
    return 'code' in order ? order : { ...order, validateOnly: false }
  }

  function take(order: ClassicOrder, client: string, requestId: string, isNext: boolean): SimReply {
    const address = addressOf(client, order.receiptId)
    const refused: Record<string, string[]> = {}
    let success = 0
    for (const token of order.tokens) {
      const fate = magic.exec(token)?.[1]
      const reason = refusalOf(token, fate, isNext)
      if (reason) {
        refused[reason] ??= []
        refused[reason].push(token)
        continue
      }
      success++
      if (order.validateOnly) continue
      frame.book.record(order.biTag, token)
      if (address && !frame.faults.silentReceipts) {
        const status = statusByMagic[fate ?? ''] ?? 0
        poster.push(address.url, { address, token, biTag: order.biTag, status, timestamp: now(), requestId })
      }
    }
    const failure = order.tokens.length - success
    if (failure === 0) return toReply(answer('80000000', 'Success'), requestId)
    if (success === 0) return toReply(answer('80300007', 'All the tokens are invalid'), requestId)
    const lists = isNext ? { illegalTokens: refused } : { illegal_tokens: Object.values(refused).flat() }
    return toReply(answer('80100000', JSON.stringify({ success, failure, ...lists })), requestId)
  }

  function refusalOf(token: string, fate: string | undefined, isNext: boolean): string | undefined {
    if (isNext && fate === 'NORIGHT') return 'noRight'
    return fate === 'ILLEGAL' || !frame.isAlive(token) ? 'tokenFormatError' : undefined
  }

  function addressOf(clientId: string, receiptId: string | undefined): HuaweiReceiptAddress | undefined {
    const mine = addresses.filter((address) => address.clientId === clientId)
    return (
      mine.find((address) => address.receiptId === receiptId) ?? mine.find((address) => !address.receiptId)
    )
  }

  function nextRequestId(): string {
    return `${now()}${String(++requests).padStart(11, '0')}`
  }

  return Object.assign(frame, {
    registerReceipts: (address: HuaweiReceiptAddress) => void addresses.push(address),
    receiptsPosted: () => poster.drained(),
  })
}
