import { byMinute, openRateMeter } from '../shared/sim-rate.ts'
import type { TlsAnswer, TlsExchange, TlsSimFrame } from '../shared/sim-tls-exchange.ts'
import { startTlsSimServer } from '../shared/sim-tls-server.ts'
import type { Simulator } from '../simulator.ts'
import {
  answerJson,
  badToken,
  denied,
  internal,
  mismatched,
  noSuchProject,
  notFoundPage,
  quotaExceeded,
  unauthenticated,
  unavailable,
  unregistered,
} from './simulator-errors.ts'
import { readMessage, type SimMessage } from './simulator-message.ts'
import { type FcmSimAccount, openTokenDesk } from './simulator-token.ts'

export type { FcmSimAccount } from './simulator-token.ts'

export type FcmSimulatorOptions = {
  port?: number
  accounts?: FcmSimAccount[]
  /** Any assertion and any bearer token is good and no rate holds, for load. */
  acceptAnyCredentials?: boolean
  /** What is known of tokens: their project. With `closedRegistry` no others are alive. */
  tokens?: Readonly<Record<string, { project?: string }>>
  closedRegistry?: boolean
  /** Messages a minute; Google's own numbers unless given. */
  projectPerMinute?: number
  devicePerMinute?: number
  /** Seconds named in Retry-After. */
  retryAfter?: number
  now?(): number
}

/** A message the simulator accepted, as it came. */
type ReceivedMessage = {
  project: string
  method: string
  headers: TlsExchange<unknown>['headers']
  body: string
}

export type FcmSimulator = Simulator & {
  ca: string
  kill(tokens: Iterable<string>, since?: number): void
  /** The newest accepted messages, oldest first. */
  received(): ReceivedMessage[]
}

const keptMessages = 1000
const sendPath = /^\/v1\/projects\/([^/]+)\/messages:send$/

/** Tokens whose instance id decides the answer, for demos and drills. */
const fates: Readonly<Record<string, TlsAnswer>> = {
  INVALID: badToken,
  UNREGISTERED: unregistered,
  MISMATCH: mismatched,
  QUOTA: quotaExceeded(1),
  INTERNAL: internal,
  UNAVAILABLE: unavailable,
}

/** Token exchange and send API of FCM on one port. */
export async function startFcmSimulator(options: FcmSimulatorOptions = {}): Promise<FcmSimulator> {
  const now = options.now ?? Date.now
  const lifted = options.acceptAnyCredentials ?? false
  const rate = (given: number | undefined, documented: number) => given ?? (lifted ? undefined : documented)
  const perProject = openRateMeter(rate(options.projectPerMinute, 600_000), now, byMinute)
  const perDevice = openRateMeter(rate(options.devicePerMinute, 240), now, byMinute)
  const tokens = new Map(Object.entries(options.tokens ?? {}))
  const messages: ReceivedMessage[] = []
  const retryAfter = options.retryAfter ?? 30
  let sent = 0
  const desk = openTokenDesk({
    accounts: options.accounts ?? [],
    acceptAnyCredentials: lifted,
    ownUrl: () => frame.url,
    now,
  })

  function judgeToken(token: string, project: string, frame: TlsSimFrame): TlsAnswer | undefined {
    const word = token.slice(0, token.indexOf(':'))
    if (Object.hasOwn(fates, word)) return fates[word]
    const known = tokens.get(token)
    if (known?.project && known.project !== project) return mismatched
    if (!frame.isAlive(token) || (options.closedRegistry && !known)) return unregistered
    return undefined
  }

  function judgeSender(exchange: TlsExchange<undefined>, project: string, frame: TlsSimFrame) {
    const grant = desk.check(exchange.headers.authorization, frame.faults)
    if (typeof grant === 'string') return unauthenticated(grant)
    if (grant.projects !== 'any' && !grant.projects.includes(project)) return noSuchProject
    return grant.withoutRole ? denied(project) : undefined
  }

  function accept(
    exchange: TlsExchange<undefined>,
    project: string,
    message: SimMessage,
    frame: TlsSimFrame,
  ) {
    if (message.token !== undefined) frame.book.record(message.data.task_id, message.token)
    if (messages.length >= keptMessages) messages.shift()
    messages.push({ project, method: exchange.method, headers: exchange.headers, body: exchange.body })
    return answerJson(200, { name: `projects/${project}/messages/0:${now()}${++sent}%simulated` })
  }

  function send(exchange: TlsExchange<undefined>, project: string, frame: TlsSimFrame): TlsAnswer {
    const refused = judgeSender(exchange, project, frame)
    if (refused) return refused
    const read = readMessage(exchange.body)
    if ('status' in read) return read
    const { message, validateOnly } = read
    const dead = message.token === undefined ? undefined : judgeToken(message.token, project, frame)
    if (dead) return dead
    if (!perProject.take(project, 1)) return quotaExceeded(retryAfter)
    if (message.token !== undefined && !perDevice.take(message.token, 1)) return quotaExceeded(retryAfter)
    if (validateOnly) return answerJson(200, { name: `projects/${project}/messages/fake_message_id` })
    return accept(exchange, project, message, frame)
  }

  function answer(exchange: TlsExchange<undefined>, frame: TlsSimFrame): TlsAnswer {
    const { method, target, headers, body } = exchange
    if (target === '/token') {
      const mediaType = (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase()
      return desk.exchange(method, mediaType, body, frame.faults)
    }
    const project = sendPath.exec(target)?.[1]
    return project === undefined || method !== 'POST' ? notFoundPage : send(exchange, project, frame)
  }

  const frame: TlsSimFrame = await startTlsSimServer<undefined>({
    port: options.port,
    http1: true,
    firstStreams: 100,
    openLine: () => undefined,
    answer,
    throttled: ({ target }) => (target === '/token' ? undefined : quotaExceeded(retryAfter)),
    unavailable: ({ target }) =>
      target === '/token' ? answerJson(503, { error: 'internal_failure' }) : unavailable,
    farewell: '',
    onReset() {
      desk.clear()
      messages.length = 0
      perProject.clear()
      perDevice.clear()
    },
  })
  return Object.assign(frame, { received: () => [...messages] })
}
