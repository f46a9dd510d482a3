import type { Reply } from './reply.ts'

export type HeaderMap = Readonly<Record<string, string>>

/** `textOf` returns undefined for requests without the header. */
export type VaryingHeader = { readonly name: string; readonly textOf: (index: number) => string | undefined }

/**
 * The body: the same bytes for all, a text or bytes per request, or shared bytes around one value per request (a token, a
 * badge). `slot` is written unchanged: the caller escapes it for the body's format.
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

/** The same request to many recipients, identified by the numbers from 0 to `count` - 1. */
export type MulticastRequest = {
  count: number
  /** Shared by all. `:method` is POST unless given; `:scheme` and `:authority` come from the pool's origin. */
  headers: HeaderMap
  /** Headers whose value differs by request, after the shared ones. They never enter a compression table. */
  varying?: readonly VaryingHeader[]
  /** Paths from a function are secret and never enter a compression table; a string is shared by all. */
  path: string | ((index: number) => string)
  body?: RequestBody
  /** Time limit of one request after it was sent (default 10 s). The stream is then cancelled. */
  timeoutMs?: number
  /** Time limit of the whole call (default 60 s). Requests not sent by then are `unsent`. */
  deadlineMs?: number
  /** Aborting immediately reports requests not yet sent as `unsent` and requests in flight as `unknown`. */
  signal?: AbortSignal
  /** Aborting reports requests not yet sent as `unsent`; requests in flight end by their reply or time limit. */
  stopSending?: AbortSignal
  /** For each index exactly one of the two is called, once, never before `multicast` has returned. */
  onReply: (index: number, reply: Reply) => void
  onFailure: (index: number, failure: RequestFailure) => void
}

/** `unsent`: the server certainly did not process it, so it is safe to send again. `unknown`: it may have. */
export type FailureKind = 'unsent' | 'unknown'

export type FailureReason =
  /** The caller's path, headers or body cannot be sent. */
  | 'invalid'
  /** No connection could be established. */
  | 'connect'
  | 'aborted'
  /** The time limit of the whole call passed before it could be sent. */
  | 'deadline'
  /** It was sent, and no reply came within its time limit or the call's. */
  | 'timeout'
  /** The server refused the stream before processing it, and `maxReplays` is used up. */
  | 'refused'
  /** The server sent GOAWAY before it processed this stream. */
  | 'goaway'
  /** The server reset the stream. */
  | 'reset'
  /** The connection ended while the stream was open. */
  | 'closed'
  /** The reply violates HTTP/2. */
  | 'malformed'
  /** The reply is larger than the pool's limits. */
  | 'oversize'

export type RequestFailure = {
  readonly kind: FailureKind
  readonly reason: FailureReason
  /** One sentence. */
  readonly message: string
  /** HTTP/2 error code, if the server sent one. */
  readonly code?: number
  /** The GOAWAY received on that connection, if any. */
  readonly goaway?: Goaway
  /** The status, if it came before the reply broke off. */
  readonly status?: number
}

export type Goaway = {
  readonly code: number
  readonly lastStream: number
  /** The debug data as text, cut to 1 KiB; push services send a JSON object with their reason. */
  readonly debug: string
}
