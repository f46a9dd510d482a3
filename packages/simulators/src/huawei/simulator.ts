import { bySecond, openRateMeter } from '../frame/rate.ts'
import { openReceiptPoster } from '../frame/receipts.ts'
import { type SimCall, type SimReply, type SimRequest, startSimServer } from '../frame/server.ts'
import type { Simulator } from '../simulator.ts'
import { answer, toReply } from './answers.ts'
import { type HuaweiCredential, openHuaweiAuth } from './auth.ts'
import { type HuaweiReceipt, type HuaweiReceiptAddress, writeReceipts } from './receipts.ts'
import { type ClassicMessage, checkClassic } from './rules.ts'
import { checkNext } from './rules-next.ts'

export type HuaweiSimulatorOptions = {
  port?: number
  /** The registered apps. */
  credentials?: readonly HuaweiCredential[]
  /** Accepts every client id, secret and service account, for load tests. */
  acceptAnyCredentials?: boolean
  /** Lifetime of access tokens in seconds. */
  expiresIn?: number
  /** Whether the apps may send HIGH urgency. */
  highUrgency?: boolean
  /** Maximum number of devices per second and app, above which it replies 503; unlimited by default. */
  devicesPerSecond?: number
  /** The only tokens that are alive; by default all are. */
  registry?: Iterable<string>
  receipts?: readonly HuaweiReceiptAddress[]
  /** Called for every send with valid credentials. */
  onSend?(send: { path: string; headers: Readonly<Record<string, string>>; body: string }): void
  now?(): number
}

export type HuaweiSimulator = Simulator & {
  kill(tokens: Iterable<string>): void
  registerReceipts(address: HuaweiReceiptAddress): void
  /** Resolves when all receipts so far were posted. */
  receiptsPosted(): Promise<void>
}

type Version = 'v1' | 'v2' | 'v3'
type Client = { id: string; requestId: string }

const isSend = (path: string) => path.endsWith('/messages:send')

/** Prefixes of tokens with a preset result; all other tokens are alive and get the message. */
const presetPrefix = /^(ILLEGAL|NORIGHT|UNINST|MISMATCH|NOTIFYOFF|CAP)/
const statusByPrefix: Readonly<Record<string, number>> = { UNINST: 2, MISMATCH: 5, NOTIFYOFF: 6, CAP: 102 }

/** Huawei Push Kit as its documents describe it: the OAuth endpoint and v1, v2 and v3 of messages:send on one port. */
export async function startHuaweiSimulator(options: HuaweiSimulatorOptions = {}): Promise<HuaweiSimulator> {
  const now = options.now ?? Date.now
  const auth = openHuaweiAuth({
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
    routes: {
      'POST /oauth2/v2/token': { open: issueToken },
      'POST /oauth2/v3/token': { open: issueToken },
      'POST /v1/{id}/messages:send': send('v1'),
      'POST /v2/{id}/messages:send': send('v2'),
      'POST /v3/{id}/messages:send': send('v3'),
    },
    authenticate({ request, params, frame }): Client | { refused: SimReply } {
      const requestId = nextRequestId()
      const id = auth.admit(request, request.path.slice(1, 3), params.id!, frame.faults)
      return typeof id === 'string' ? { id, requestId } : { refused: toReply(id, requestId) }
    },
    wrongMethod: { status: 405, body: '' },
    throttled: ({ path }) => (isSend(path) ? { status: 503, body: '' } : undefined),
    unavailable: ({ path }) =>
      isSend(path)
        ? toReply(answer('81000001', 'System inner error.'), nextRequestId())
        : { status: 500, body: '' },
    onReset() {
      auth.reset()
      devices.clear()
    },
    onClose: () => poster.close(),
  })

  function issueToken({ request, frame }: SimCall): SimReply {
    return auth.token(request, frame.faults)
  }

  function send(version: Version) {
    return {
      answer({ request, app }: SimCall & { app: Client }): SimReply {
        options.onSend?.({ path: request.path, headers: request.headers, body: request.body })
        const checked = check(request, version)
        if ('code' in checked) return toReply(checked, app.requestId)
        if (!devices.take(app.id, checked.tokens.length)) return { status: 503, body: '' }
        return accept(checked, app.id, app.requestId, version === 'v3')
      },
    }
  }

  function check(request: SimRequest, version: Version) {
    if (request.mediaType !== 'application/json') return answer('80100003', 'Illegal payload')
    if (request.body.includes('FORBIDDEN_WORD'))
      return answer('80100016', 'Anti-Spam: word is forbidden in [CONTENT]')
    const bytes = Buffer.byteLength(request.body)
    if (version !== 'v3') return checkClassic(request.json(), bytes, switches)
    const checked = checkNext(request.json(), bytes, request.headers['push-type'])
    return 'code' in checked ? checked : { ...checked, validateOnly: false }
  }

  function accept(message: ClassicMessage, client: string, requestId: string, isNext: boolean): SimReply {
    const address = addressOf(client, message.receiptId)
    const refused: Record<string, string[]> = {}
    let success = 0
    for (const token of message.tokens) {
      const preset = presetPrefix.exec(token)?.[1]
      const reason = refusalOf(token, preset, isNext)
      if (reason) {
        refused[reason] ??= []
        refused[reason].push(token)
        continue
      }
      success++
      if (message.validateOnly) continue
      frame.accepted.record(message.biTag, token)
      if (address && !frame.faults.silentReceipts) {
        const status = statusByPrefix[preset ?? ''] ?? 0
        poster.push(address.url, {
          address,
          token,
          biTag: message.biTag,
          status,
          timestamp: now(),
          requestId,
        })
      }
    }
    const failure = message.tokens.length - success
    if (failure === 0) return toReply(answer('80000000', 'Success'), requestId)
    if (success === 0) return toReply(answer('80300007', 'All the tokens are invalid'), requestId)
    const lists = isNext ? { illegalTokens: refused } : { illegal_tokens: Object.values(refused).flat() }
    return toReply(answer('80100000', JSON.stringify({ success, failure, ...lists })), requestId)
  }

  function refusalOf(token: string, preset: string | undefined, isNext: boolean): string | undefined {
    if (isNext && preset === 'NORIGHT') return 'noRight'
    return preset === 'ILLEGAL' || !frame.isAlive(token) ? 'tokenFormatError' : undefined
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
