import { randomBytes } from 'node:crypto'
import { joinNode, leaveNode, renewNode } from '@herald/db/native'
import { type Database, retrying } from '@herald/db/store'

/** The devices of a dead gateway look online for this long. */
const LEASE_SECONDS = 10
const RENEW_MS = 2_000
/** While the gateway has no connection, no device is affected if it fails. */
const EMPTY_LEASE_SECONDS = 60
const EMPTY_RENEW_MS = 20_000
/** How long the last connection must have ended: messages that it did not acknowledge wait for the end of the lease. */
const EMPTY_AFTER_MS = 10_000
/** Writing stops this long before the lease ends, because writing takes time and clocks drift. */
const MARGIN_MS = 3_000

export type NodeLease = {
  /** The current name of this gateway. */
  node(): string
  /** False when the lease was not renewed lately: the planner may have reassigned the batches of this gateway. */
  mayWrite(): boolean
  /** A device has connected: its messages must not wait for the end of a long lease. */
  shorten(): void
  /** Ends the lease. */
  leave(): Promise<void>
}

/**
 * Registers the gateway and renews its lease. A gateway that was fenced, because it did not renew in time, registers again under
 * a new name and keeps its connections; `onRejoin` then opens the queue of the new name.
 */
export async function joinGateways(options: {
  db: Database
  nodeId: string
  /** The gateway has no connection (default: it has some). */
  isEmpty?(): boolean
  onRejoin(): void
  onRenewed(): void
  onPostgresError(error: unknown): void
}): Promise<NodeLease> {
  const { db, nodeId, isEmpty = () => false } = options
  let node = nameOf(nodeId)
  let leaseUntil = performance.now() + LEASE_SECONDS * 1000
  let isLong = false
  let renamed = false
  let usedAt = performance.now()
  await retrying(() => joinNode(db, node, LEASE_SECONDS), { forMs: 60_000 })

  async function renew(): Promise<void> {
    const askedAt = performance.now()
    const seconds = isEmpty() && askedAt - usedAt > EMPTY_AFTER_MS ? EMPTY_LEASE_SECONDS : LEASE_SECONDS
    const until = askedAt + seconds * 1000
    // A shorter lease may be granted although the answer is lost.
    leaseUntil = Math.min(leaseUntil, until)
    try {
      if (!(await renewNode(db, node, seconds))) {
        node = nameOf(nodeId)
        renamed = true
        await joinNode(db, node, seconds)
      }
      if (renamed) options.onRejoin()
      renamed = false
      leaseUntil = until
      isLong = seconds === EMPTY_LEASE_SECONDS
      options.onRenewed()
    } catch (error) {
      options.onPostgresError(error)
    }
  }
  let renewing: Promise<void> | undefined
  const renewNow = () => {
    renewing ??= renew().finally(() => {
      renewing = undefined
    })
  }
  const timer = setInterval(() => {
    const now = performance.now()
    if (!isEmpty()) usedAt = now
    else if (isLong && leaseUntil - now > EMPTY_LEASE_SECONDS * 1000 - EMPTY_RENEW_MS) return
    renewNow()
  }, RENEW_MS)

  return {
    node: () => node,
    mayWrite: () => performance.now() < leaseUntil - MARGIN_MS,
    shorten() {
      usedAt = performance.now()
      if (isLong) renewNow()
    },
    async leave() {
      clearInterval(timer)
      await renewing
      await leaveNode(db, node).catch(options.onPostgresError)
    },
  }
}

/** Unique per start of a process: a fence of an earlier start must not affect this one. */
function nameOf(nodeId: string): string {
  const readable = nodeId.replaceAll(/[^A-Za-z0-9._-]/g, '_').slice(0, 48)
  return `${readable}-${randomBytes(5).toString('hex')}`
}
