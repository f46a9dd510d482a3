import { randomBytes } from 'node:crypto'
import { joinNode, leaveNode, renewNode } from '@herald/db/native'
import { type Database, retrying } from '@herald/db/store'

/** Others count on the lease for so long; a dead gateway's devices look online meanwhile. */
const LEASE_SECONDS = 10
const RENEW_MS = 2_000
/** Writing stops this long before the lease ends, because writing takes time and clocks run apart. */
const MARGIN_MS = 3_000

export type NodeLease = {
  /** The name under which this gateway is known now. */
  node(): string
  /** False when the lease could not be proved alive lately: others may have taken over what is ours. */
  mayWrite(): boolean
  /** Ends the lease. */
  leave(): Promise<void>
}

/**
 * Joins the gateways and keeps the lease. A gateway that was fenced, because it could not renew in time, joins again under a
 * new name with all its connections; `onRejoin` then moves what hangs on the name.
 */
export async function joinGateways(options: {
  db: Database
  nodeId: string
  onRejoin(): void
  onRenewed(): void
  onTrouble(error: unknown): void
}): Promise<NodeLease> {
  const { db, nodeId } = options
  let node = nameOf(nodeId)
  let provedAt = performance.now()
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
      provedAt = askedAt
      options.onRenewed()
    } catch (error) {
      options.onTrouble(error)
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
    mayWrite: () => performance.now() - provedAt < LEASE_SECONDS * 1000 - MARGIN_MS,
    async leave() {
      clearInterval(timer)
      await renewing
      await leaveNode(db, node).catch(options.onTrouble)
    },
  }
}

/** Unique for every life of a process: the fence of a former life must not hit the present one. */
function nameOf(nodeId: string): string {
  const readable = nodeId.replaceAll(/[^A-Za-z0-9._-]/g, '_').slice(0, 48)
  return `${readable}-${randomBytes(5).toString('hex')}`
}
