/**
 * The interface of every vendor simulator in addition to the vendor's own protocol. It is served below `/_sim/` on the same
 * port: over plain HTTP, or for vendors with HTTP/2 over TLS with HTTP/2 and HTTP/1.1.
 *
 * GET  /_sim/ledger?task_id=N   {accepted, distinct, duplicates}; without task_id of all tasks
 * GET  /_sim/ledger/devices?task_id=N   {tokens: [...]}, the accepted tokens
 * GET  /_sim/ledger/tasks       {tasks: {N: {accepted, tokens, unheard, firstAt, lastAt}}, unheard}; unheard = accepted, but the reply
 *                               was lost: of a task the tokens for which this is certain, of all tasks the number of messages
 * GET  /_sim/requests           {requests}, the number of requests to the vendor so far, refused ones included
 * POST /_sim/faults             Faults as JSON; replaces the faults set before, {} switches all off
 * POST /_sim/dead               {tokens: [...], since?: ms} puts tokens on the dead list
 * POST /_sim/reset              clears ledger, number of requests, faults and dead list
 */
export type Simulator = {
  url: string
  /** For TLS simulators: PEM of the authority that signed the certificate. */
  ca?: string
  ledger(taskId?: number): Ledger
  /** The number of requests to the vendor so far, refused and lost ones included. */
  requests(): number
  setFaults(faults: Faults): void
  close(): Promise<void>
}

export type Ledger = { accepted: number; distinct: number; duplicates: number }

export type Faults = {
  /** Milliseconds before each reply. */
  latencyMs?: number
  /** Share (0..1) of requests that get the vendor's own "slow down". */
  throttle?: number
  /** Share of requests that get the vendor's own 5xx. */
  unavailable?: number
  /** Share of requests that get no reply. */
  hang?: number
  /** Share of requests whose connection is cut after they were processed: the reply is lost. */
  cut?: number
  /** Access tokens issued so far are refused as expired, once per session. */
  expireAuth?: boolean
  /** All credentials are refused. */
  refuseAuth?: boolean
  /** Vendors with HTTP/2: number of requests after which a connection gets GOAWAY. */
  goawayAfter?: number
  /** No receipts are posted. */
  silentReceipts?: boolean
  /** Share of requests that a gateway in front of the vendor refuses with an HTML page and status 403. */
  htmlForbidden?: number
  /** A gateway in front of the vendor refuses larger bodies with an HTML page and status 413. */
  maxBodyBytes?: number
  /** Seconds in the Retry-After header of `unavailable`; 0 is sent as it is. */
  retryAfter?: number
  /** The same reply to a share of the requests, e.g. a refusal in the vendor's own words. */
  reply?: PresetReply
  /** Rules that only some accounts of the vendor have (a missing permission, a required category), by name. */
  rules?: readonly string[]
  /** All faults end by themselves after this time. */
  forSeconds?: number
}

export type PresetReply = {
  status: number
  headers?: Readonly<Record<string, string>>
  /** A value that is not a string is sent as JSON. */
  body?: unknown
  /** By default 1. */
  share?: number
  /** Only every nth of these requests, for specs that need a refusal for certain; by default 1. */
  every?: number
  /** Only requests whose path starts with this. */
  path?: string
}
