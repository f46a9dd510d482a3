import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http2'
import { bySecond, openRateMeter } from '../frame/rate.ts'
import type { TlsAnswer, TlsExchange, TlsSimFrame } from '../frame/tls-exchange.ts'
import { startTlsSimServer } from '../frame/tls-server.ts'
import type { Simulator } from '../simulator.ts'
import {
  type ApnsConnection,
  type ApnsSimKey,
  openApnsSimAuth,
  refusesFuture,
  updatesPerTeam,
} from './auth.ts'
import type { Environment } from './certificate-marks.ts'
import {
  checkHeaders,
  findHiddenMistake,
  isToken,
  openActivityOrder,
  presetRefusalOf,
  type Refusal,
  readBody,
  readToken,
  readTopic,
  tokenOnlyTypes,
} from './rules.ts'

export type { ApnsSimKey } from './auth.ts'

export type ApnsSimulatorOptions = {
  port?: number
  /** A simulator serves one environment, as Apple's hosts do. */
  environment?: Environment
  keys?: ApnsSimKey[]
  /** PEM of authorities whose client certificates are accepted as Apple's. */
  certificateAuthorities?: string[]
  /** Accepts every bearer token and client certificate, for load tests. */
  acceptAnyCredentials?: boolean
  /** Accepts credentials that it does not know if they are well-formed; those that it knows are still checked. */
  acceptUnknownCredentials?: boolean
  /** App and environment of tokens. With `closedRegistry` no other tokens are alive. */
  tokens?: Readonly<Record<string, { topic?: string; environment?: Environment }>>
  closedRegistry?: boolean
  tokenUpdateGrace?: number
  /** Maximum number of streams of a connection after its first accepted push. */
  streams?: number
  /** A rejected notification limits the connection to one stream until another is accepted, as Apple may do. */
  oneStreamAfterRejection?: boolean
  /** Maximum number of pushes to one device per second; unlimited by default. */
  devicePerSecond?: number
  /** Refuses notifications that APNs would accept and the device would not show. */
  strict?: boolean
  now?(): number
}

/** An accepted request, as received. */
type ReceivedPush = {
  token: string
  headers: IncomingHttpHeaders
  body: string
  /** An event of a Live Activity that the device ignores: it is older than the last one, or the activity has ended. */
  ignored?: true
}

export type ApnsSimulator = Simulator & {
  ca: string
  kill(tokens: Iterable<string>, since?: number): void
  /** The most recent accepted pushes, oldest first. */
  received(): ReceivedPush[]
  /** Number of connections so far. */
  connections(): number
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
    acceptUnknown: options.acceptUnknownCredentials ?? false,
    tokenUpdateGrace: options.tokenUpdateGrace ?? 1,
    now,
  })
  const tokens = new Map(Object.entries(options.tokens ?? {}))
  const perDevice = openRateMeter(options.devicePerSecond, now, bySecond)
  const order = openActivityOrder()
  const pushes: ReceivedPush[] = []
  let connections = 0

  function checkToken(token: string, topic: string, frame: TlsSimFrame): Refusal | undefined {
    const preset = presetRefusalOf(token)
    if (preset) return preset
    const known = tokens.get(token)
    const isUnknown = options.closedRegistry && !known
    if (!isToken(token) || isUnknown || (known?.environment && known.environment !== environment))
      return { status: 400, reason: 'BadDeviceToken' }
    if (known?.topic && known.topic !== topic) return { status: 400, reason: 'DeviceTokenNotForTopic' }
    if (!frame.isAlive(token)) return { status: 410, reason: 'Unregistered' }
    return undefined
  }

  /** Method and path first, then the credentials, then the rest: Apple does not publish its order. */
  function check(exchange: TlsExchange<ApnsConnection>, frame: TlsSimFrame): Refusal | undefined {
    const { headers, connection } = exchange
    const token = readToken(exchange.method, exchange.target)
    if (typeof token !== 'string') return token
    const authorised = auth.check(headers.authorization, connection, frame.faults)
    if ('reason' in authorised) return authorised
    const topic = readTopic(headers, authorised.topics, authorised.byCertificate)
    if (typeof topic !== 'string') return topic
    const wrong = checkHeaders(headers, exchange.rawHeaders)
    if (wrong) return wrong
    const pushType = headers['apns-push-type'] as string | undefined
    // Apple does not say which reason it gives.
    if (authorised.byCertificate && tokenOnlyTypes.has(pushType ?? ''))
      return { status: 400, reason: 'InvalidPushType' }
    const device = token.toLowerCase()
    const refused = checkToken(device, topic, frame)
    if (refused) return refused
    const body = readBody(exchange.body, pushType)
    if ('status' in body && 'reason' in body) return body as Refusal
    if (options.strict && findHiddenMistake(body, pushType)) return { status: 400, reason: 'PayloadEmpty' }
    if (!perDevice.take(device, 1)) return { status: 429, reason: 'TooManyRequests' }
    frame.accepted.record(typeof body.task_id === 'string' ? body.task_id : undefined, device)
    if (pushes.length >= keptPushes) pushes.shift()
    const isActivity = pushType === 'liveactivity' && findHiddenMistake(body, pushType) === undefined
    const ignored = isActivity && !order.note(device, body.aps)
    pushes.push({ token: device, headers, body: exchange.body, ...(ignored && { ignored }) })
    return undefined
  }

  function answer(exchange: TlsExchange<ApnsConnection>, frame: TlsSimFrame): TlsAnswer {
    const refusal = check(exchange, frame)
    const { connection } = exchange
    if (!refusal) {
      if (connection.streams !== streams) connection.setStreams(streams)
      return { status: 200, headers: idHeaders(exchange) }
    }
    if (options.oneStreamAfterRejection && refusal.status === 400 && connection.streams !== 1)
      connection.setStreams(1)
    const since = refusal.status === 410 ? (deadSince(exchange, frame) ?? now()) : undefined
    return refusalAnswer(exchange, refusal, since)
  }

  const deadSince = (exchange: TlsExchange<ApnsConnection>, frame: TlsSimFrame) =>
    frame.deadSince(String(readToken(exchange.method, exchange.target)).toLowerCase())

  function idHeaders({ headers }: TlsExchange<ApnsConnection>): Record<string, string> {
    const given = headers['apns-id']
    const id = { 'apns-id': typeof given === 'string' ? given : randomUUID() }
    return environment === 'development' ? { ...id, 'apns-unique-id': randomUUID() } : id
  }

  function refusalAnswer(
    exchange: TlsExchange<ApnsConnection>,
    { status, reason }: Refusal,
    timestamp?: number,
  ): TlsAnswer {
    return {
      status,
      headers: { ...idHeaders(exchange), 'content-type': 'application/json' },
      body: JSON.stringify({ reason, timestamp }),
    }
  }

  const frame = await startTlsSimServer<ApnsConnection>({
    port: options.port,
    clientCertificates: true,
    firstStreams: 1,
    openConnection(socket, session) {
      connections++
      const certificate = auth.readCertificate(socket)
      const connection: ApnsConnection = {
        certificate,
        jwtChangedAt: 0,
        earlyChanges: 0,
        expired: false,
        streams: 1,
        setStreams(count) {
          connection.streams = count
          session?.settings({ maxConcurrentStreams: count })
        },
      }
      // Only connections with tokens start with one stream: APNs sees the token with the first request.
      if (certificate?.trusted) connection.setStreams(streams)
      return connection
    },
    refuseConnection({ certificate }) {
      const marks = certificate?.environments ?? []
      return marks.length > 0 && !marks.includes(environment)
        ? JSON.stringify({ reason: 'BadCertificateEnvironment' })
        : undefined
    },
    answer,
    throttled: (exchange) => refusalAnswer(exchange, { status: 429, reason: 'TooManyRequests' }),
    unavailable: (exchange) => refusalAnswer(exchange, { status: 503, reason: 'ServiceUnavailable' }),
    goawayData: JSON.stringify({ reason: 'Shutdown' }),
    rules: [updatesPerTeam, refusesFuture],
    onReset() {
      auth.clear()
      pushes.length = 0
      order.clear()
      perDevice.clear()
    },
  })
  return Object.assign(frame, {
    received: () => [...pushes],
    connections: () => connections,
  })
}
