import type { Window } from '@herald/db/tasks'

/** In flight at one certificate or gateway, so that an urgent push does not wait behind a broadcast. */
const MAX_RECIPIENTS = 20_000
/**
 * In flight at one certificate: about half a second of single pushes of a worker, which is what those of others wait for. Each
 * round reads all of them.
 */
const CERTIFICATE_BATCHES = 400
/** A gateway waits for acknowledgements, not for its turn, and serves only its own devices. */
const GATEWAY_BATCHES = 5_000
/** In flight at all certificates: bounds what a push waits for, and the memory of the queue, with thousands of busy applications. */
const ALL_RECIPIENTS = 400_000
const ALL_BATCHES = 2_000

/** How much may be in flight at a certificate while `busy` destinations have batches to release; at least one batch. */
export function certificateWindow(busy: number): Window {
  const batches = Math.min(CERTIFICATE_BATCHES, Math.max(1, Math.floor(ALL_BATCHES / busy)))
  return { recipients: recipientsOf(busy), batches }
}

export function gatewayWindow(busy: number): Window {
  return { recipients: recipientsOf(busy), batches: GATEWAY_BATCHES }
}

function recipientsOf(busy: number): number {
  return Math.min(MAX_RECIPIENTS, Math.max(1, Math.floor(ALL_RECIPIENTS / busy)))
}

/** What a round has released. */
export type Released = { batches: number; recipients: number }

const PAUSE_MS = 25
const LONG_PAUSE_MS = 50
/** Batches of a broadcast. The pushes of many applications are smaller, and each of them waits for a round. */
const LARGE = 500
/** The workers took no more since the last round, so what is left in the window lasts for several rounds. */
const MAX_TAKEN = MAX_RECIPIENTS / 4

/**
 * How long to wait after a round that has released something, in milliseconds. A round costs the same for one batch as for ten, and while a
 * broadcast is sent each of them releases what the workers took since the last one.
 */
export function pauseAfter({ batches, recipients }: Released): number {
  return recipients >= batches * LARGE && recipients <= MAX_TAKEN ? LONG_PAUSE_MS : PAUSE_MS
}
