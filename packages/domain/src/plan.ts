import type { Channel } from './channel-names.ts'
import { type Route, type RouteDevice, type RouteRules, route, type Skipped } from './route.ts'
import { batchSize } from './task.ts'

export type PlanDevice = Omit<RouteDevice, 'online' | 'bindings'> & {
  id: number
  /** The gateway node that holds its connection. */
  node?: string
  bindings: readonly PlanBinding[]
}

export type PlanBinding = RouteDevice['bindings'][number] & { bundleId?: string }

/** A cut of a task for one channel: what the batch row holds before its first claim. */
export type NewBatch = {
  channel: Channel
  certificateId?: number
  /** APNs: the topic of the bindings, when they name one. */
  topic?: string
  node?: string
  /** Device ids, ascending. */
  recipients: number[]
  tried: Channel[]
}

export type Plan = {
  batches: NewBatch[]
  /** Devices whose message waits in the inbox. */
  inbox: number[]
  unreachable: number
}

/**
 * Routes devices and cuts the result by channel, certificate, topic and node. `devices` come in ascending order of id;
 * `speed` bounds a batch to one second's worth.
 */
export function planDevices(devices: Iterable<PlanDevice>, rules: RouteRules, speed?: number): Plan {
  const most = Math.max(1, Math.min(batchSize, speed ?? batchSize))
  const open = new Map<string, NewBatch>()
  const plan: Plan = { batches: [], inbox: [], unreachable: 0 }
  const tried = [...rules.tried]
  for (const device of devices) {
    const decision = routeOf(device, rules)
    if (decision.to === 'inbox') plan.inbox.push(device.id)
    else if (decision.to === 'unreachable') plan.unreachable++
    else {
      const cut = cutOf(decision, device)
      const key = `${cut.channel}|${cut.certificateId ?? ''}|${cut.topic ?? ''}|${cut.node ?? ''}`
      let batch = open.get(key)
      if (!batch || batch.recipients.length >= most) {
        batch = { ...cut, recipients: [], tried }
        open.set(key, batch)
        plan.batches.push(batch)
      }
      batch.recipients.push(device.id)
    }
  }
  return plan
}

/** A device counts as online only with the node that holds it: the batch must go there. */
export function routeOf(device: PlanDevice, rules: RouteRules, passed?: Skipped[]): Route {
  return route(
    { platform: device.platform, bindings: device.bindings, online: device.node !== undefined },
    rules,
    passed,
  )
}

type Cut = Pick<NewBatch, 'channel' | 'certificateId' | 'topic' | 'node'>

function cutOf(decision: Route & { to: 'vendor' | 'native' }, device: PlanDevice): Cut {
  if (decision.to === 'native') return { channel: 'native', node: device.node }
  const { bundleId } = decision.binding as PlanBinding
  return {
    channel: decision.channel,
    certificateId: decision.way.certificateId,
    topic: decision.channel === 'apns' ? bundleId : undefined,
  }
}

/** Devices assigned to each channel, the inbox being the native channel's. */
export function targetsOf(plan: Plan): Map<Channel, number> {
  const targets = new Map<Channel, number>()
  const add = (channel: Channel, count: number) => targets.set(channel, (targets.get(channel) ?? 0) + count)
  for (const batch of plan.batches) add(batch.channel, batch.recipients.length)
  if (plan.inbox.length > 0) add('native', plan.inbox.length)
  return targets
}
