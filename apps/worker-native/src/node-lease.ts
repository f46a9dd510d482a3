import { randomBytes } from 'node:crypto'
import { joinNode, leaveNode, renewNode } from '@herald/db/native'
import { type Database, retrying } from '@herald/db/store'

/** The devices of a dead gateway look online for this long. */
const LEASE_SECONDS = 10
const RENEW_MS = 2_000
/** Writing stops this long before the lease ends, because writing takes time and clocks drift. */
const MARGIN_MS = 3_000

export type NodeLease = {
  /** The current name of this gateway. */
  node(): string
  /** False when the lease was not renewed lately: the planner may have reassigned the batches of this gateway. */
  mayWrite(): boolean
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
  onRejoin(): void
  onRenewed(): void
  onPostgresError(error: unknown): void
}): Promise<NodeLease> {
  const { db, nodeId } = options
  let node = nameOf(nodeId)
  let renewedAt = performance.now()
  let renamed = false
  await retrying(() => joinNode(db, node, LEASE_SECONDS), { forMs: 60_000 })

  async function renew(): Promise<void> {
    const askedAt = performance.now()
    try {
      if (!(await renewNode(db, node, LEASE_SECONDS))) {
        node = nameOf(nodeId)
        renamed = true
        await joinNode(db, node, LEASE_SECONDS)
      }
      if (renamed) options.onRejoin()
      renamed = false
      renewedAt = askedAt
      options.onRenewed()
    } catch (error) {
      options.onPostgresError(error)
    }
  }
  let renewing: Promise<void> | undefined
  const timer = setInterval(() => {
    renewing ??= renew().finally(() => {
      renewing = undefined
    })
  }, RENEW_MS)

  return {
    node: () => node,
    mayWrite: () => performance.now() - renewedAt < LEASE_SECONDS * 1000 - MARGIN_MS,
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
