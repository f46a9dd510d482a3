import type { Server } from 'node:http'
import { createLastSeen } from '@herald/db/devices'
import { oncePerTask } from '@herald/db/native'
import type { Context, Running, Service } from '@herald/program'
import { nativeQueue, type QueueWorker } from '@herald/queue'
import { createAnswers } from '@herald/worker'
import { recordAcknowledgements } from './acknowledgements.ts'
import { createConnections } from './connections.ts'
import { createDelivery } from './delivery.ts'
import { createInboxDrain } from './inbox-drain.ts'
import { openListener } from './listener.ts'
import { createMetrics } from './metrics.ts'
import { joinGateways } from './node-lease.ts'
import { createPresence } from './presence.ts'
import { startReconciler } from './reconciler.ts'
import { createSettler } from './settle-written.ts'
import { createTaskCache } from './task-cache.ts'
import { createUnrecorded } from './unrecorded.ts'
import { createUpgrade } from './upgrade.ts'

export type GatewayOptions = {
  /** Serves /native on this server; without one the gateway opens its own port. */
  server?: Server
}

/**
 * Acknowledgements per connection of tasks that were not written to it. A device repeats those that an earlier connection may
 * have lost: the SDK sends its last 100. Messages that are still in the inbox are written again, and then count without limit.
 */
const MAX_UNPROVEN_ACKS = 200
/** Jobs wait for acknowledgements, not for the CPU. */
const CONCURRENT_JOBS = 64
/** Connections are closed over time, at a thousand per second, to spread the load on the other gateways and Postgres. */
const DRAIN_MS_PER_DEVICE = 1
const MAX_DRAIN_MS = 10_000
const FLUSH_MS = 5_000

/** The native channel: keeps the connections of devices and delivers over them. */
export function nativeGateway(options: GatewayOptions = {}): Service {
  return {
    name: 'worker-native',
    // Without the queue a gateway still accepts devices and delivers from their inboxes.
    needs: ['postgres'],
    start: (context) => startGateway(context, options),
  }
}

async function startGateway(context: Context, options: GatewayOptions): Promise<Running> {
  const { settings, db, queues, certificates, log, activity } = context
  const { ackSeconds } = settings
  let draining = false
  let errorLogged = false
  const ending = new AbortController()
  const onPostgresError = (error: unknown) => {
    if (!errorLogged) log.warn({ err: error }, 'the gateway cannot use Postgres; it will retry')
    errorLogged = true
  }

  const listener = await openListener(settings, log, options.server)
  const lease = await joinGateways({
    db,
    nodeId: settings.nodeId,
    isEmpty: () => connections.count() === 0,
    onPostgresError,
    onRenewed() {
      errorLogged = false
    },
    onRejoin() {
      log.warn({ node: lease.node() }, 'gateway lease expired and was fenced; rejoined under a new name')
      const former = worker
      worker = work()
      void former.drain().catch(onPostgresError)
    },
  }).catch(async (error) => {
    listener.refuseNew()
    await listener.close()
    throw error
  })

  const tasks = createTaskCache(
    db,
    oncePerTask((error) =>
      log.error({ err: error, task: error.taskId }, 'a task cannot be read; its messages are not delivered'),
    ),
  )
  const unrecorded = createUnrecorded()
  const acknowledgements = recordAcknowledgements({
    db,
    unrecorded,
    onReceived(count) {
      metrics.received(count)
      activity?.note()
    },
    onPostgresError,
    ending: ending.signal,
  })
  const lastSeen = createLastSeen(db, onPostgresError)
  const answers = createAnswers(db, onPostgresError)
  const presence = createPresence({
    db,
    node: lease.node,
    seen: lastSeen.seen,
    onPostgresError,
    ending: ending.signal,
  })
  const connections = createConnections({
    presence,
    onWelcome({ deviceId }) {
      lease.shorten()
      reconciler.welcome(deviceId)
    },
    onHere: ({ deviceId }) => reconciler.welcome(deviceId),
    onAcknowledged(session, written, others) {
      const { appId, deviceId } = session
      metrics.acknowledged(written.length + others.length)
      const take = (taskId: number, mayRecord: () => boolean, isProven: boolean) => {
        unrecorded.add(deviceId, taskId)
        if (delivery.takesAcknowledgement(taskId, deviceId)) return
        if (mayRecord()) acknowledgements.record({ appId, taskId, deviceId }, isProven)
        else unrecorded.remove(deviceId, taskId)
      }
      for (const taskId of written) take(taskId, () => true, true)
      for (const taskId of others) take(taskId, () => session.unprovenAcks++ < MAX_UNPROVEN_ACKS, false)
    },
    onUnacknowledged: (deviceId, taskIds) => delivery.expectsNoMore(deviceId, taskIds),
    onWritable: (deviceId) => reconciler.wake(deviceId),
    onClosed: (code) => metrics.closed(code),
  })
  const metrics = createMetrics(context.registry, connections.count)
  const write = (deviceId: number, taskId: number, frame: Buffer) => {
    const written = connections.write(deviceId, taskId, frame)
    if (written) metrics.written()
    return written
  }
  const settle = createSettler({
    db,
    certificates,
    node: lease.node,
    stateOf(deviceId) {
      const session = connections.sessions.get(deviceId)
      return !session ? 'gone' : session.away ? 'away' : 'here'
    },
    wasWritten: (deviceId, taskId) =>
      connections.wasWritten(deviceId, taskId) || unrecorded.has(deviceId, taskId),
    wake: (deviceId) => reconciler.wake(deviceId),
    ackSeconds,
    metrics,
    answers,
    log,
  })
  const delivery = createDelivery({
    db,
    tasks,
    node: lease.node,
    mayWrite: lease.mayWrite,
    write,
    settle,
    record: (acknowledgement) => acknowledgements.record(acknowledgement, true),
    onCounted: (taskId, deviceId) => unrecorded.remove(deviceId, taskId),
    onFirstCall: metrics.firstCall,
  })
  const inbox = createInboxDrain({
    db,
    tasks,
    mayWrite: lease.mayWrite,
    write,
    wasWritten: connections.wasWritten,
    unrecorded,
    ackSeconds,
    onSent(appId, count) {
      answers.settled({ appId, channel: 'native', certificateId: null }, { sent: count, failed: 0 })
      metrics.sent(count)
      activity?.note()
    },
  })
  const reconciler = startReconciler({
    db,
    sessions: connections.sessions,
    node: lease.node,
    mayWrite: lease.mayWrite,
    inbox,
    onReplaced: (deviceId, connection) => connections.end(deviceId, connection, 'replaced'),
    onRevoked: (deviceId, connection) => connections.end(deviceId, connection, 'revoked'),
    onDisconnected: presence.disconnect,
    onPostgresError,
  })

  const work = (): QueueWorker =>
    queues.work(nativeQueue(lease.node()), { concurrency: CONCURRENT_JOBS, onDead: context.die }, (job) =>
      delivery.run(job).finally(activity?.note),
    )
  let worker = work()

  listener.serve(
    createUpgrade({
      trustedProxies: settings.trustedProxies,
      perAddress: settings.gatewayPerAddress,
      countOf: connections.countOf,
      unidentifiedOf: connections.unidentifiedOf,
      isDraining: () => draining,
      accept: connections.accept,
    }),
    connections.countOf,
  )

  return {
    waiting: () => (lease.mayWrite() ? undefined : 'gateway lease'),
    async stop() {
      draining = true
      listener.refuseNew()
      await connections.drain(Math.min(MAX_DRAIN_MS, connections.count() * DRAIN_MS_PER_DEVICE))
      await worker.drain()
      await reconciler.stop()
      connections.stop()
      // If Postgres is down, the planner fences this gateway later and devices repeat their acknowledgements.
      setTimeout(() => ending.abort(), FLUSH_MS).unref()
      await Promise.all([acknowledgements.flushed(), presence.flushed(), lastSeen.close(), answers.flush()])
      await lease.leave()
      await listener.close()
    },
  }
}
