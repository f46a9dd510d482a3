import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http2'
import { bySecond, openRateMeter } from '../shared/sim-rate.ts'
import type { TlsAnswer, TlsExchange, TlsSimFrame } from '../shared/sim-tls-exchange.ts'
import { startTlsSimServer } from '../shared/sim-tls-server.ts'
import type { Simulator } from '../simulator.ts'
import { type ApnsLine, type ApnsSimKey, type Environment, openApnsSimAuth } from './simulator-auth.ts'
import {
  checkHeaders,
  fateOf,
  findSilentFault,
  isToken,
  type Refusal,
  readBody,
  readToken,
  readTopic,
} from './simulator-rules.ts'

export type { ApnsSimKey } from './simulator-auth.ts'

export type ApnsSimulatorOptions = {
  port?: number
  /** One simulator is one environment, as Apple's hosts are. */
  environment?: Environment
  keys?: ApnsSimKey[]
  /** PEM of authorities whose client certificates count as Apple's. */
  certificateAuthorities?: string[]
  /** Any bearer token or client certificate is good, for load. */
  acceptAnyCredentials?: boolean
  /** What is known of tokens: their app and environment. With `closedRegistry` no others are alive. */
  tokens?: Readonly<Record<string, { topic?: string; environment?: Environment }>>
  closedRegistry?: boolean
  tokenUpdateGrace?: number
  /** Streams of a connection after its first good push. */
  streams?: number
  /** Apple may let a rejected notification cut the streams to one until another is accepted. */
  streamsFallOnRejection?: boolean
  /** Pushes to one device a second; absent: any number. */
  devicePerSecond?: number
  /** Refuses what APNs would take and the device not show. */
  strict?: boolean
  now?(): number
}

/** A request the simulator accepted, as it came. */
type ReceivedPush = { token: string; headers: IncomingHttpHeaders; body: string }

export type ApnsSimulator = Simulator & {
  ca: string
  kill(tokens: Iterable<string>, since?: number): void
  /** The newest accepted pushes, oldest first. */
  received(): ReceivedPush[]
  /** Connections opened and pushes judged so far, whatever the verdict. */
  connections(): number
  requests(): number
}

const keptPushes = 1000

export async function startApnsSimulator(options: ApnsSimulatorOptions = {}): Promise<ApnsSimulator> {
  const now = options.now ?? Date.now
  const environment = options.environment ?? 'production'
  const streams = options.streams ?? 1000
  const auth = openApnsSimAuth({
    environment,
    keys: options.keys ?? [],
    certificateAuthorities: options.certificateAuthorities ?? [],
    acceptAnyCredentials: options.acceptAnyCredentials ?? false,
    tokenUpdateGrace: options.tokenUpdateGrace ?? 1,
    now,
  })
  const tokens = new Map(Object.entries(options.tokens ?? {}))
  const perDevice = openRateMeter(options.devicePerSecond, now, bySecond)
  const pushes: ReceivedPush[] = []
  let connections = 0
  let requests = 0

  function judgeToken(token: string, topic: string, frame: TlsSimFrame): Refusal | undefined {
    const fate = fateOf(token)
    if (fate) return fate
    const known = tokens.get(token)
    const strange = options.closedRegistry && !known
    if (!isToken(token) || strange || (known?.environment && known.environment !== environment))
      return { status: 400, reason: 'BadDeviceToken' }
    if (known?.topic && known.topic !== topic) return { status: 400, reason: 'DeviceTokenNotForTopic' }
    if (!frame.isAlive(token)) return { status: 410, reason: 'Unregistered' }
    return undefined
  }

  /** Method and path, then the credential, then the rest: Apple does not publish its order. */
  function judge(exchange: TlsExchange<ApnsLine>, frame: TlsSimFrame): Refusal | undefined {
    const { headers, line } = exchange
    const token = readToken(exchange.method, exchange.target)
    if (typeof token !== 'string') return token
    const authorised = auth.check(headers.authorization, line, frame.faults)
    if ('reason' in authorised) return authorised
    const topic = readTopic(headers, authorised.topics, authorised.byCertificate)
    if (typeof topic !== 'string') return topic
    const wrong = checkHeaders(headers, exchange.rawHeaders)
    if (wrong) return wrong
    const device = token.toLowerCase()
    const refused = judgeToken(device, topic, frame)
    if (refused) return refused
    const pushType = headers['apns-push-type'] as string | undefined
    const body = readBody(exchange.body, pushType)
    if ('status' in body && 'reason' in body) return body as Refusal
    if (options.strict && findSilentFault(body, pushType)) return { status: 400, reason: 'PayloadEmpty' }
    if (!perDevice.take(device, 1)) return { status: 429, reason: 'TooManyRequests' }
    frame.book.record(typeof body.task_id === 'string' ? body.task_id : undefined, device)
    if (pushes.length >= keptPushes) pushes.shift()
    pushes.push({ token: device, headers, body: exchange.body })
    return undefined
  }

  function answer(exchange: TlsExchange<ApnsLine>, frame: TlsSimFrame): TlsAnswer {
    requests++
    const refusal = judge(exchange, frame)
    const { line } = exchange
    if (!refusal) {
      if (line.streams !== streams) line.setStreams(streams)
      return { status: 200, headers: idHeaders(exchange) }
    }
    if (options.streamsFallOnRejection && refusal.status === 400 && line.streams !== 1) line.setStreams(1)
    const since = refusal.status === 410 ? (deadSince(exchange, frame) ?? now()) : undefined
    return refusalAnswer(exchange, refusal, since)
  }

  const deadSince = (exchange: TlsExchange<ApnsLine>, frame: TlsSimFrame) =>
    frame.deadSince(String(readToken(exchange.method, exchange.target)).toLowerCase())

  function idHeaders({ headers }: TlsExchange<ApnsLine>): Record<string, string> {
    const given = headers['apns-id']
    const id = { 'apns-id': typeof given === 'string' ? given : randomUUID() }
    return environment === 'development' ? { ...id, 'apns-unique-id': randomUUID() } : id
  }

  function refusalAnswer(
    exchange: TlsExchange<ApnsLine>,
    { status, reason }: Refusal,
    timestamp?: number,
  ): TlsAnswer {
    return {
      status,
      headers: { ...idHeaders(exchange), 'content-type': 'application/json' },
      body: JSON.stringify({ reason, timestamp }),
    }
  }

  const frame = await startTlsSimServer<ApnsLine>({
    port: options.port,
    clientCertificates: true,
    firstStreams: 1,
    openLine(socket, session) {
      connections++
      const certificate = auth.readCertificate(socket)
      const line: ApnsLine = {
        certificate,
        jwtChangedAt: 0,
        earlyChanges: 0,
        expired: false,
        streams: 1,
        setStreams(count) {
          line.streams = count
          session?.settings({ maxConcurrentStreams: count })
        },
      }
      // The cautious start is for tokens, which APNs must see before it can trust the connection.
      if (certificate?.trusted) line.setStreams(streams)
      return line
    },
    refuseLine({ certificate }) {
      const marks = certificate?.environments ?? []
      return marks.length > 0 && !marks.includes(environment)
        ? JSON.stringify({ reason: 'BadCertificateEnvironment' })
        : undefined
    },
    answer,
    throttled: (exchange) => refusalAnswer(exchange, { status: 429, reason: 'TooManyRequests' }),
    unavailable: (exchange) => refusalAnswer(exchange, { status: 503, reason: 'ServiceUnavailable' }),
    farewell: JSON.stringify({ reason: 'Shutdown' }),
    onReset() {
      pushes.length = 0
      perDevice.clear()
    },
  })
  return Object.assign(frame, {
    received: () => [...pushes],
    connections: () => connections,
    requests: () => requests,
  })
}
