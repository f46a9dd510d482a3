/**
 * What every vendor simulator offers beside the vendor's own protocol. All of it lives below `/_sim/` on the same port, in
 * plain HTTP where the protocol port speaks it, else (apns, fcm) on the HTTP/2 port as well.
 *
 * GET  /_sim/ledger?task_id=N   {accepted, distinct, duplicates}; without task_id over all
 * GET  /_sim/ledger/devices?task_id=N   {tokens: [...]} accepted tokens, for tests
 * GET  /_sim/ledger/tasks       {tasks: {N: {accepted, tokens}}, unheard}; unheard = accepted, but the answer was lost
 * POST /_sim/faults             Faults as JSON; {} switches all off
 * POST /_sim/dead               {tokens: [...], since?: ms} puts tokens on the dead list
 * POST /_sim/reset              forgets ledger, faults, dead list
 */
export type Simulator = {
  url: string
  /** PEM of the authority that signed its certificate, for TLS simulators. */
  ca?: string
  ledger(taskId?: number): Ledger
  setFaults(faults: Faults): void
  close(): Promise<void>
}

export type Ledger = { accepted: number; distinct: number; duplicates: number }

export type Faults = {
  /** Milliseconds before each answer. */
  latencyMs?: number
  /** Share (0..1) of requests answered by the vendor's own "slow down". */
  throttle?: number
  /** Share of requests answered by the vendor's own 5xx. */
  unavailable?: number
  /** Share of requests never answered. */
  hang?: number
  /** Share of connections cut after the request was processed: the answer is lost. */
  cut?: number
  /** The auth the vendor handed out is refused as expired, once per session. */
  expireAuth?: boolean
  /** Every credential is refused. */
  refuseAuth?: boolean
  /** apns, fcm: GOAWAY after this many requests on a connection. */
  goawayAfter?: number
  /** No receipts are called back. */
  silentReceipts?: boolean
}
