import type { Reply } from './reply.ts'

export type HeaderMap = Readonly<Record<string, string>>

/**
 * What a request carries: the same bytes for all, a text or bytes for each, or a frame of shared bytes around a slot that
 * each fills (a token, a badge). The slot is written as it is: escaping for the body's format is the caller's.
 */
export type RequestBody =
  | Uint8Array
  | string
  | ((index: number) => Uint8Array | string)
  | {
      readonly before: Uint8Array | string
      readonly slot: (index: number) => string
      readonly after: Uint8Array | string
    }

/** The same request to many recipients, who are the numbers from 0 to `count` - 1. */
export type Multicast = {
  count: number
  /** Shared by all. `:method` is POST unless given; `:scheme` and `:authority` come from the pool's origin. */
  headers: HeaderMap
  /** A function's paths are secrets of one recipient each and never enter a compression table; a text is shared. */
  path: string | ((index: number) => string)
  body?: RequestBody
  /** Time limit of one request from its sending, default 10 s. The stream is then cancelled. */
  timeoutMs?: number
  /** Time limit of the whole call, default 60 s. What was not sent by then is `unsent`. */
  deadlineMs?: number
  /** Aborting reports what is not sent yet as `unsent`, what is under way as `unknown`, both at once. */
  signal?: AbortSignal
  /** For each index exactly one of the two is called, once, never before `multicast` has returned. */
  onReply: (index: number, reply: Reply) => void
  onFailure: (index: number, failure: Failure) => void
}

/** `unsent`: the server certainly did not process it, send it again freely. `unknown`: it may have. */
export type FailureKind = 'unsent' | 'unknown'

export type FailureReason =
  /** The caller's path, headers or body cannot be sent. */
  | 'invalid'
  /** No connection could be had. */
  | 'connect'
  | 'aborted'
  /** The whole call's time was over before it could be sent. */
  | 'deadline'
  /** It was sent, and no answer came in its time or the call's. */
  | 'timeout'
  /** The server refused the stream before processing it, more often than is worth repeating. */
  | 'refused'
  /** The server said goodbye before it took this stream. */
  | 'goaway'
  /** The server reset the stream. */
  | 'reset'
  /** The connection ended under the stream. */
  | 'closed'
  /** The server's answer breaks HTTP/2. */
  | 'malformed'
  /** The answer is larger than the pool takes. */
  | 'oversize'

export type Failure = {
  readonly kind: FailureKind
  readonly reason: FailureReason
  /** One sentence. */
  readonly message: string
  /** HTTP/2 error code, where the server gave one. */
  readonly code?: number
  /** The server's farewell on that connection, if there was one. */
  readonly goaway?: Goaway
  /** The status, if it came before the answer broke off. */
  readonly status?: number
}

export type Goaway = {
  readonly code: number
  readonly lastStream: number
  /** As text; APNs puts a JSON object with its reason here. At most 1 KiB is kept. */
  readonly debug: string
}
