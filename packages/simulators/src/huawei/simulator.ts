import { openNotices } from '../frame/notices.ts'
import { bySecond, byShanghaiDay, openRateMeter } from '../frame/rate.ts'
import { openReceiptPoster } from '../frame/receipts.ts'
import { type SimCall, type SimReply, type SimRequest, startSimServer } from '../frame/server.ts'
import type { Simulator } from '../simulator.ts'
import { type Answer, answer, toReply } from './answers.ts'
import { type HuaweiCredential, openHuaweiAuth } from './auth.ts'
import { type HuaweiReceipt, type HuaweiReceiptAddress, writeReceipts } from './receipts.ts'
import { type ClassicMessage, checkClassic } from './rules.ts'
import { checkNext, checkRevoke } from './rules-next.ts'
import { presetOf, refusalOf, statusByPreset } from './tokens.ts'

export type HuaweiSimulatorOptions = {
  port?: number
  /** The registered apps. */
  credentials?: readonly HuaweiCredential[]
  /** Accepts every client id, secret and service account, for load tests. */
  acceptAnyCredentials?: boolean
  /** Accepts credentials that it does not know if they are well-formed; those that it knows are still checked. */
  acceptUnknownCredentials?: boolean
  /** Lifetime of access tokens in seconds. */
  expiresIn?: number
  /** Whether the apps may send HIGH importance and urgency. */
  highAllowed?: boolean
  /** Maximum number of marketing messages per device and day; more are accepted and not delivered. Unlimited by default. */
  marketingPerDay?: number
  /** Maximum number of test messages (requests) per app and day in v3. */
  testPerDay?: number
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
  /** The tokens from which the notification with this id was taken. */
  withdrawn(notifyId: number): string[]
  /** Resolves when all receipts so far were posted. */
  receiptsPosted(): Promise<void>
}

type Version = 'v1' | 'v2' | 'v3'
type Client = { id: string; requestId: string }

const isSend = (path: string) => /\/messages:(send|revoke)$/.test(path)

/** Permissions and reviews that apps have or lack, as names of the fault `rules`. */
const rules = ['image_verification', 'no_self_classification', 'no_push_type_right'] as const

/** Categories of self-classification. A message with another word, or with none, is marketing. */
const serviceCategories = new Set(
  (
    'IM VOIP MISS_CALL SUBSCRIPTION TRAVEL HEALTH WORK ACCOUNT EXPRESS FINANCE DEVICE_REMINDER SYSTEM_REMINDER MAIL ' +
    'CUSTOMER_SERVICE PLAY_VOICE'
  ).split(' '),
)

/** Huawei Push Kit as its documents describe it: the OAuth endpoint and v1, v2 and v3 of messages:send on one port. */
export async function startHuaweiSimulator(options: HuaweiSimulatorOptions = {}): Promise<HuaweiSimulator> {
  const now = options.now ?? Date.now
  const auth = openHuaweiAuth({
    credentials: options.credentials ?? [],
    acceptAny: options.acceptAnyCredentials ?? false,
    acceptUnknown: options.acceptUnknownCredentials ?? false,
    expiresIn: options.expiresIn ?? 3600,
    now,
  })
  const addresses: HuaweiReceiptAddress[] = [...(options.receipts ?? [])]
  const devices = openRateMeter(options.devicesPerSecond, now, bySecond)
  const poster = openReceiptPoster<HuaweiReceipt>({ write: (items) => writeReceipts(items, now()) })
  const marketing = openRateMeter(options.marketingPerDay, now, byShanghaiDay)
  const tests = openRateMeter(options.testPerDay ?? 1000, now, byShanghaiDay)
  const switches = { highAllowed: options.highAllowed ?? false }
  let requests = 0

  const frame = await startSimServer({
    port: options.port,
    registry: options.registry,
    rules,
    routes: {
      'POST /oauth2/v2/token': { open: issueToken },
      'POST /oauth2/v3/token': { open: issueToken },
      'POST /v1/{id}/messages:send': send('v1'),
      'POST /v2/{id}/messages:send': send('v2'),
      'POST /v3/{id}/messages:send': send('v3'),
      'POST /v1/{id}/messages:revoke': { answer: revoke },
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
      marketing.clear()
      tests.clear()
      notices.clear()
    },
    onClose: () => poster.close(),
  })

  const notices = openNotices(frame.accepted)

  function issueToken({ request, frame }: SimCall): SimReply {
    return auth.token(request, frame.faults)
  }

  function send(version: Version) {
    return {
      answer({ request, app }: SimCall & { app: Client }): SimReply {
        options.onSend?.({ path: request.path, headers: request.headers, body: request.body })
        const checked = check(request, version)
        if ('code' in checked) return toReply(checked, app.requestId)
        const refused = refuseByAccount(checked, app.id, version)
        if (refused) return toReply(refused, app.requestId)
        if (!devices.take(app.id, checked.tokens.length)) return { status: 503, body: '' }
        if (checked.notifyId !== undefined) notices.note(checked.notifyId, checked.biTag)
        const hasRight = !checked.needsRight || !frame.hasRule('no_push_type_right')
        return accept(checked, app.id, app.requestId, { isNext: version === 'v3', hasRight })
      },
    }
  }

  /** Takes away messages of v3 that had a notifyId. What Huawei says about a token without such a message is not documented. */
  function revoke({ request, app }: SimCall & { app: Client }): SimReply {
    if (!/\..+\./.test(request.headers.authorization ?? ''))
      return toReply(answer('80200001', 'Oauth authentication error'), app.requestId)
    const checked = checkRevoke(request.json(), request.headers['push-type'])
    if ('code' in checked) return toReply(checked, app.requestId)
    const { notifyId, tokens } = checked
    const unknown = tokens.filter((token) => !notices.withdraw(notifyId, token))
    if (unknown.length === 0) return toReply(answer('80000000', 'Success'), app.requestId)
    const success = tokens.length - unknown.length
    const msg = { illegalTokens: { notifyIdNotFound: unknown }, success, failure: unknown.length }
    return toReply(answer(success === 0 ? '80300007' : '80100000', JSON.stringify(msg)), app.requestId)
  }

  function check(request: SimRequest, version: Version) {
    if (request.mediaType !== 'application/json') return answer('80100003', 'Illegal payload')
    if (request.body.includes('FORBIDDEN_WORD'))
      return answer('80100016', 'Anti-Spam: word is forbidden in [CONTENT]')
    const bytes = Buffer.byteLength(request.body)
    if (version !== 'v3') {
      const checked = checkClassic(request.json(), bytes, switches)
      return 'code' in checked ? checked : { ...checked, needsRight: false, notifyId: undefined }
    }
    const checked = checkNext(request.json(), bytes, request.headers['push-type'])
    return 'code' in checked ? checked : { ...checked, validateOnly: false }
  }

  /** Rules that depend on what the operator has set or been granted in AppGallery Connect. */
  function refuseByAccount(message: ClassicMessage, client: string, version: Version): Answer | undefined {
    const { receiptId, hasImage, isTest } = message
    if (hasImage && frame.hasRule('image_verification')) return answer('80100022', 'Image not verified')
    if (
      receiptId !== undefined &&
      !addresses.some((one) => one.clientId === client && one.receiptId === receiptId)
    )
      return answer('80300013', 'Invalid receipt URL')
    if (version === 'v3' && isTest && !tests.take(client, 1))
      return answer('80300029', 'Test message flow control')
    return undefined
  }

  function accept(
    message: ClassicMessage,
    client: string,
    requestId: string,
    { isNext, hasRight }: { isNext: boolean; hasRight: boolean },
  ): SimReply {
    const { hasImage } = message
    const address = addressOf(client, message.receiptId)
    const refused: Record<string, string[]> = {}
    let success = 0
    for (const token of message.tokens) {
      const reason = refusalOf(token, { isNext, hasImage, hasRight, isAlive: frame.isAlive(token) })
      if (reason) {
        refused[reason] ??= []
        refused[reason].push(token)
        continue
      }
      success++
      if (message.validateOnly) continue
      frame.accepted.record(message.biTag, token)
      // The result of a v3 message is reported in version 2 only.
      const version = isNext ? 2 : address?.version
      const status = statusOf(message, token, client, version)
      if (address && !frame.faults.silentReceipts)
        poster.push(address.url, {
          address: { ...address, version },
          token,
          biTag: message.biTag,
          status,
          timestamp: now(),
          requestId,
        })
    }
    const failure = message.tokens.length - success
    if (failure === 0) return toReply(answer('80000000', 'Success'), requestId)
    if (success === 0 && !isNext) return toReply(answer('80300007', 'All the tokens are invalid'), requestId)
    const lists = isNext ? { illegalTokens: refused } : { illegal_tokens: Object.values(refused).flat() }
    const code = success === 0 ? '80300007' : '80100000'
    return toReply(answer(code, JSON.stringify({ success, failure, ...lists })), requestId)
  }

  function statusOf(message: ClassicMessage, token: string, client: string, version: 1 | 2 = 1): number {
    const preset = statusByPreset[presetOf(token) ?? '']
    if (preset !== undefined) return preset
    const mayClassify = !frame.hasRule('no_self_classification')
    const isService = mayClassify && serviceCategories.has(message.category ?? '')
    // Test messages do not count towards the cap.
    const isCounted = message.isNotification && !isService && !message.isTest
    if (!isCounted || marketing.take(`${client} ${token}`, 1)) return 0
    return version === 2 ? 256 : 102
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
    withdrawn: (notifyId: number) => notices.withdrawn(notifyId),
  })
}
