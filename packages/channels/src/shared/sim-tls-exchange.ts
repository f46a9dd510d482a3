import type { IncomingHttpHeaders, ServerHttp2Session } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { Simulator } from '../simulator.ts'
import type { Authority } from './sim-authority.ts'
import type { SimState, SimStateOptions } from './sim-state.ts'

/** A request to the simulated vendor, with what the simulator remembers of its connection. */
export type TlsExchange<Line> = {
  method: string
  target: string
  headers: IncomingHttpHeaders
  /** Name, value, name, value, as they came: repeated headers show here only. */
  rawHeaders: readonly string[]
  body: string
  line: Line
}

/** No body: headers alone end the answer. */
export type TlsAnswer = { status: number; headers?: Record<string, string>; body?: string }

export type TlsSimOptions<Line> = SimStateOptions & {
  /** 0 or absent: a free port. */
  port?: number
  /** Asks clients for a certificate; any is let in, the vendor's rules judge it. */
  clientCertificates?: boolean
  /** Streams a new connection may open. */
  firstStreams?: number
  /** The vendor itself is also served over HTTP/1.1; otherwise only /_sim/ is. */
  http1?: boolean
  /** What is remembered of a connection. */
  openLine(socket: TLSSocket, session: ServerHttp2Session | undefined): Line
  /** GOAWAY data to part with before the first request, e.g. for a certificate of the wrong environment. */
  refuseLine?(line: Line): string | undefined
  answer(exchange: TlsExchange<Line>, frame: TlsSimFrame): TlsAnswer
  /** The vendor's own "slow down" and 5xx; undefined for requests it never gives them to. */
  throttled(exchange: TlsExchange<Line>): TlsAnswer | undefined
  unavailable(exchange: TlsExchange<Line>): TlsAnswer
  /** GOAWAY data when the fault `goawayAfter` strikes. */
  farewell: string
}

export type TlsSimFrame = Simulator & SimState & { ca: string; authority: Authority }

/** One request with the ways to answer it, whichever HTTP it came by. */
export type Sent<Line> = {
  exchange: TlsExchange<Line>
  /** False when nobody is there to hear it. */
  reply(answer: TlsAnswer): boolean
  /** Answers how many devices were accepted over this connection of late: their answers may be lost with it. */
  cut(): number
  accepted(devices: number): void
}

/** Characters of a request's body. */
export const mostBytes = 1 << 20
