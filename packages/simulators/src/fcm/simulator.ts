import { byMinute, openRateMeter } from '../frame/rate.ts'
import { compileRoutes, type RouteTable } from '../frame/routes.ts'
import type { TlsAnswer, TlsExchange, TlsSimFrame } from '../frame/tls-exchange.ts'
import { startTlsSimServer } from '../frame/tls-server.ts'
import type { Simulator } from '../simulator.ts'
import {
  answerJson,
  badToken,
  cancelled,
  denied,
  internal,
  mismatched,
  notFound,
  notFoundPage,
  quotaExceeded,
  thirdPartyAuth,
  unauthenticated,
  unavailable,
  unregistered,
} from './errors.ts'
import { readMessage, type SimMessage } from './message.ts'
import { type FcmSimAccount, openTokenExchange } from './token.ts'

export type { FcmSimAccount } from './token.ts'

export type FcmSimulatorOptions = {
  port?: number
  accounts?: FcmSimAccount[]
  /** Accepts every assertion and bearer token without rate limits, for load tests. */
  acceptAnyCredentials?: boolean
  /** Accepts credentials that it does not know if they are well-formed; those that it knows are still checked. */
  acceptUnknownCredentials?: boolean
  /** The projects of tokens. With `closedRegistry` no other tokens are alive. */
  tokens?: Readonly<Record<string, { project?: string }>>
  closedRegistry?: boolean
  /** Maximum number of messages per minute; by default Google's numbers. */
  projectPerMinute?: number
  devicePerMinute?: number
  /** Seconds in Retry-After. */
  retryAfter?: number
  now?(): number
}

/** An accepted message, as received. */
type ReceivedMessage = {
  project: string
  method: string
  headers: TlsExchange<unknown>['headers']
  body: string
}

export type FcmSimulator = Simulator & {
  ca: string
  kill(tokens: Iterable<string>, since?: number): void
  /** The most recent accepted messages, oldest first. */
  received(): ReceivedMessage[]
}

type Exchange = TlsExchange<undefined>
type Route = (exchange: Exchange, params: Readonly<Record<string, string>>, frame: TlsSimFrame) => TlsAnswer

const keptMessages = 1000

/** Tokens whose instance id selects a refusal, for demos and drills. */
const presetRefusals: Readonly<Record<string, TlsAnswer>> = {
  INVALID: badToken,
  UNREGISTERED: unregistered,
  MISMATCH: mismatched,
  QUOTA: quotaExceeded(1),
  INTERNAL: internal,
  UNAVAILABLE: unavailable,
  NOTFOUND: notFound,
  CANCELLED: cancelled,
  THIRDPARTY: thirdPartyAuth,
}

/** The account lacks the role to send. */
const roleMissing = 'role_missing'

/** Token exchange and send API of FCM on one port. */
export async function startFcmSimulator(options: FcmSimulatorOptions = {}): Promise<FcmSimulator> {
  const now = options.now ?? Date.now
  const unlimited = options.acceptAnyCredentials ?? false
  const rate = (given: number | undefined, documented: number) =>
    given ?? (unlimited ? undefined : documented)
  const perProject = openRateMeter(rate(options.projectPerMinute, 600_000), now, byMinute)
  const perDevice = openRateMeter(rate(options.devicePerMinute, 240), now, byMinute)
  const tokens = new Map(Object.entries(options.tokens ?? {}))
  const messages: ReceivedMessage[] = []
  const retryAfter = options.retryAfter ?? 30
  let sent = 0
  const access = openTokenExchange({
    accounts: options.accounts ?? [],
    acceptAnyCredentials: unlimited,
    acceptUnknown: options.acceptUnknownCredentials ?? false,
    ownUrl: () => frame.url,
    now,
  })

  function checkToken(token: string, project: string, frame: TlsSimFrame): TlsAnswer | undefined {
    const instanceId = token.slice(0, token.indexOf(':'))
    if (Object.hasOwn(presetRefusals, instanceId)) return presetRefusals[instanceId]
    const known = tokens.get(token)
    if (known?.project && known.project !== project) return mismatched
    if (!frame.isAlive(token) || (options.closedRegistry && !known)) return unregistered
    return undefined
  }

  function checkSender(exchange: Exchange, project: string, frame: TlsSimFrame) {
    const grant = access.check(exchange.headers.authorization, frame.faults)
    if (typeof grant === 'string') return unauthenticated(grant)
    // Google does not say whether another owner's project exists.
    const isForeign = grant.projects !== 'any' && !grant.projects.includes(project)
    return isForeign || grant.withoutRole || frame.hasRule(roleMissing) ? denied(project) : undefined
  }

  function accept(exchange: Exchange, project: string, message: SimMessage, frame: TlsSimFrame) {
    if (message.token !== undefined) frame.accepted.record(message.data.task_id, message.token)
    if (messages.length >= keptMessages) messages.shift()
    messages.push({ project, method: exchange.method, headers: exchange.headers, body: exchange.body })
    return answerJson(200, { name: `projects/${project}/messages/0:${now()}${++sent}%simulated` })
  }

  function send(exchange: Exchange, project: string, frame: TlsSimFrame): TlsAnswer {
    const refused = checkSender(exchange, project, frame)
    if (refused) return refused
    const read = readMessage(exchange.body)
    if ('status' in read) return read
    const { message, validateOnly } = read
    const dead = message.token === undefined ? undefined : checkToken(message.token, project, frame)
    if (dead) return dead
    if (!perProject.take(project, 1)) return quotaExceeded(retryAfter)
    if (message.token !== undefined && !perDevice.take(message.token, 1)) return quotaExceeded(retryAfter)
    if (validateOnly) return answerJson(200, { name: `projects/${project}/messages/fake_message_id` })
    return accept(exchange, project, message, frame)
  }

  function exchangeToken({ method, headers, body }: Exchange, _: unknown, frame: TlsSimFrame): TlsAnswer {
    const mediaType = (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase()
    return access.exchange(method, mediaType, body, frame.faults)
  }

  const find = compileRoutes({
    'POST /token': exchangeToken,
    'GET /token': exchangeToken,
    'POST /v1/projects/{project}/messages:send': (exchange: Exchange, { project }, frame: TlsSimFrame) =>
      send(exchange, project!, frame),
  } satisfies RouteTable<Route>)

  function answer(exchange: Exchange, frame: TlsSimFrame): TlsAnswer {
    const found = find(exchange.method, exchange.target)
    return 'allow' in found ? notFoundPage : found.route(exchange, found.params, frame)
  }

  const frame: TlsSimFrame = await startTlsSimServer<undefined>({
    port: options.port,
    http1: true,
    firstStreams: 100,
    openConnection: () => undefined,
    answer,
    throttled: ({ target }) => (target === '/token' ? undefined : quotaExceeded(retryAfter)),
    unavailable: ({ target }) =>
      target === '/token' ? answerJson(503, { error: 'internal_failure' }) : unavailable,
    goawayData: '',
    rules: [roleMissing],
    onReset() {
      access.clear()
      messages.length = 0
      perProject.clear()
      perDevice.clear()
    },
  })
  return Object.assign(frame, { received: () => [...messages] })
}
