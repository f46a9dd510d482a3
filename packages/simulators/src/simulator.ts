/**
 * The interface of every vendor simulator in addition to the vendor's own protocol. It is served below `/_sim/` on the same
 * port: over plain HTTP, or for vendors with HTTP/2 over TLS with HTTP/2 and HTTP/1.1.
 *
 * GET  /_sim/ledger?task_id=N   {accepted, distinct, duplicates}; without task_id of all tasks
 * GET  /_sim/ledger/devices?task_id=N   {tokens: [...]}, the accepted tokens
 * GET  /_sim/ledger/tasks       {tasks: {N: {accepted, tokens}}, unheard}; unheard = accepted, but the reply was lost
 * POST /_sim/faults             Faults as JSON; {} switches all off
 * POST /_sim/dead               {tokens: [...], since?: ms} puts tokens on the dead list
 * POST /_sim/reset              clears ledger, faults and dead list
 */
export type Simulator = {
  url: string
  /** For TLS simulators: PEM of the authority that signed the certificate. */
  ca?: string
  ledger(taskId?: number): Ledger
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
}
