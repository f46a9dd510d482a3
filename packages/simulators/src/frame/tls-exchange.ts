import type { IncomingHttpHeaders, ServerHttp2Session } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { Simulator } from '../simulator.ts'
import type { Authority } from './authority.ts'
import type { Acceptance } from './ledger.ts'
import type { SimState, SimStateOptions } from './state.ts'

/** A request to the simulated vendor, with the state of its connection. */
export type TlsExchange<Connection> = {
  method: string
  target: string
  headers: IncomingHttpHeaders
  /** Name, value, name, value, as received; `headers` does not show repeated headers. */
  rawHeaders: readonly string[]
  body: string
  connection: Connection
}

/** Without a body the reply ends with its headers. */
export type TlsAnswer = { status: number; headers?: Record<string, string>; body?: string }

export type TlsSimOptions<Connection> = SimStateOptions & {
  /** By default a free port. */
  port?: number
  /** Requests a client certificate. Every certificate is accepted here and checked by the vendor's rules. */
  clientCertificates?: boolean
  /** Maximum number of streams of a new connection. */
  firstStreams?: number
  /** Serves the vendor's API over HTTP/1.1 too; by default only /_sim/. */
  http1?: boolean
  /** Creates the state of a connection. */
  openConnection(socket: TLSSocket, session: ServerHttp2Session | undefined): Connection
  /** GOAWAY data that ends a connection before its first request, e.g. for a certificate of the wrong environment. */
  refuseConnection?(connection: Connection): string | undefined
  answer(exchange: TlsExchange<Connection>, frame: TlsSimFrame): TlsAnswer
  /** The vendor's own "slow down" and 5xx; undefined for requests that it never throttles. */
  throttled(exchange: TlsExchange<Connection>): TlsAnswer | undefined
  unavailable(exchange: TlsExchange<Connection>): TlsAnswer
  /** GOAWAY data of the fault `goawayAfter`. */
  goawayData: string
}

export type TlsSimFrame = Simulator & SimState & { ca: string; authority: Authority }

/** One request and how to reply to it, independent of the HTTP version. */
export type Sent<Connection> = {
  exchange: TlsExchange<Connection>
  /** Returns false if the client has gone, or the connection was cut. */
  reply(answer: TlsAnswer): boolean
  /** Closes the connection. Returns what was recently accepted over it: these replies may be lost with it. */
  cut(): readonly Acceptance[]
  noteAccepted(accepted: readonly Acceptance[]): void
}

/** Maximum length of a request's body. */
export const maxBytes = 1 << 20
