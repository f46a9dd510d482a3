import type { Server } from 'node:http'
import type { Context, Running, Service } from '@herald/program'
import { nativeQueue, type QueueWorker } from '@herald/queue'
import { recordAcknowledgements } from './acknowledgements.ts'
import { createConnections } from './connections.ts'
import { createDelivery } from './delivery.ts'
import { openDoor } from './door.ts'
import { createGreeter } from './greeter.ts'
import { createInboxDrain } from './inbox-drain.ts'
import { createMetrics } from './metrics.ts'
import { joinGateways } from './node-lease.ts'
import { startRounds } from './rounds.ts'
import { createSettler } from './settle-written.ts'
import { createTaskBook } from './task-book.ts'
import { createUpgrade } from './upgrade.ts'

export type GatewayOptions = {
  /** Serves /native on this server beside what it does already; without one the gateway opens its own port. */
  server?: Server
}

/** A job waits for acknowledgements, not for the processor. */
const JOBS = 64
/** Moving devices away is spread, so that the other gateways and Postgres see no storm: a thousand a second, 10 s at most. */
const MOVE_MS_PER_DEVICE = 1
const MOVE_MS = 10_000
const SHORT_OF_TIME_MS = 5_000

/** The native channel: holds the connections of devices and delivers over them. */
export function nativeGateway(options: GatewayOptions = {}): Service {
  return {
    name: 'worker-native',
    // Without the queue it still greets devices and drains their inboxes; refusing them would only make matters worse.
    needs: ['postgres'],
    start: (context) => startGateway(context, options),
  }
}

async function startGateway(context: Context, options: GatewayOptions): Promise<Running> {
  const { settings, db, queues, certificates, log } = context
  const { ackSeconds } = settings
  let leaving = false
  let giveUp = false
  let trouble = false
  const onTrouble = (error: unknown) => {
    if (!trouble) log.warn({ err: error }, 'the gateway cannot use Postgres; it goes on when it can')
    trouble = true
  }

  const door = await openDoor(settings, options.server)
  const lease = await joinGateways({
    db,
    nodeId: settings.nodeId,
    onTrouble,
    onRenewed() {
      trouble = false
    },
    onRejoin() {
      log.warn({ node: lease.node() }, 'this gateway was given up by the others and joined them again')
      const former = worker
      worker = work()
      void former.drain().catch(onTrouble)
    },
  }).catch(async (error) => {
    door.refuseNew()
    await door.close()
    throw error
  })

  const tasks = createTaskBook(db)
  const acknowledgements = recordAcknowledgements({
    db,
    onReceived: (count) => metrics.received(count),
    onTrouble,
    giveUp: () => giveUp,
  })
  const greeter = createGreeter({ db, node: lease.node, onTrouble, giveUp: () => giveUp })
  const connections = createConnections({
    greeter,
    onWelcome: ({ deviceId }) => rounds.welcome(deviceId),
    onAcknowledged({ deviceId, appId }, taskIds) {
      metrics.acknowledged(taskIds.length)
      for (const taskId of taskIds)
        if (!delivery.takesAcknowledgement(taskId, deviceId))
          acknowledgements.record({ appId, taskId, deviceId })
    },
    onLost: (deviceId, taskIds) => delivery.expectsNoMore(deviceId, taskIds),
    onRoom: (deviceId) => rounds.wake(deviceId),
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
    isConnected: (deviceId) => connections.sessions.has(deviceId),
    wasWritten: connections.wasWritten,
    wake: (deviceId) => rounds.wake(deviceId),
    ackSeconds,
    metrics,
    log,
  })
  const delivery = createDelivery({
    db,
    tasks,
    node: lease.node,
    mayWrite: lease.mayWrite,
    write,
    settle,
    record: acknowledgements.record,
    onFirstCall: metrics.firstCall,
  })
  const inbox = createInboxDrain({
    db,
    tasks,
    mayWrite: lease.mayWrite,
    write,
    wasWritten: connections.wasWritten,
    ackSeconds,
    onSent: metrics.sent,
  })
  const rounds = startRounds({
    db,
    sessions: connections.sessions,
    node: lease.node,
    inbox,
    onReplaced: (deviceId, connection) => connections.end(deviceId, connection, 'replaced'),
    onLeft: greeter.leave,
    onTrouble,
  })

  const work = (): QueueWorker =>
    queues.work(nativeQueue(lease.node()), { concurrency: JOBS, onDead: context.die }, delivery.run)
  let worker = work()

  door.serve(
    createUpgrade({
      trustedProxies: settings.trustedProxies,
      perAddress: settings.gatewayPerAddress,
      countOf: connections.countOf,
      isLeaving: () => leaving,
      accept: connections.accept,
    }),
  )

  return {
    waiting: () => (lease.mayWrite() ? undefined : 'the lease of the gateway'),
    async stop() {
      leaving = true
      door.refuseNew()
      await connections.moveAll(Math.min(MOVE_MS, connections.count() * MOVE_MS_PER_DEVICE))
      await worker.drain()
      await rounds.stop()
      connections.stop()
      // While Postgres is away the rest is left to the fence and to the devices, which say again what they have.
      setTimeout(() => {
        giveUp = true
      }, SHORT_OF_TIME_MS).unref()
      await Promise.all([acknowledgements.flushed(), greeter.flushed()])
      await lease.leave()
      await door.close()
    },
  }
}
