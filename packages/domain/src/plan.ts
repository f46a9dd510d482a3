import { type Channel, cardOf } from './channel-names.ts'
import { type Route, type RouteDevice, type RouteRules, route, type Skipped } from './route.ts'
import { batchSize } from './task.ts'

export type PlanDevice = Omit<RouteDevice, 'online' | 'bindings'> & {
  id: number
  /** The gateway node that has its connection; unset while its app is in the background. */
  node?: string
  bindings: readonly PlanBinding[]
}

export type PlanBinding = RouteDevice['bindings'][number] & { bundleId?: string }

/** Part of a task's recipients for one channel; becomes a row of `batch`. */
export type NewBatch = {
  channel: Channel
  certificateId?: number
  /** The topic of the bindings, where the vendor has topics and they name one. */
  topic?: string
  node?: string
  /** Device ids, ascending. */
  recipients: number[]
  tried: Channel[]
}

export type Plan = {
  batches: NewBatch[]
  /** Devices that get an inbox entry instead of a batch. */
  inbox: number[]
  /** Devices whose app is in the background: the message goes to their vendor, and a copy waits in the inbox. */
  copies?: number[]
  unreachable: number
}

/**
 * Routes devices and groups them into batches by channel, certificate, topic and node. `devices` must be in ascending order
 * of id. A batch has at most `speed` recipients, so that the pace can be kept second by second.
 */
export function planDevices(devices: Iterable<PlanDevice>, rules: RouteRules, speed?: number): Plan {
  const maxRecipients = Math.max(1, Math.min(batchSize, speed ?? batchSize))
  const open = new Map<string, NewBatch>()
  const plan: Plan = { batches: [], inbox: [], unreachable: 0 }
  const tried = [...rules.tried]
  for (const device of devices) {
    const decision = routeOf(device, rules)
    if (decision.to === 'inbox') plan.inbox.push(device.id)
    else if (decision.to === 'unreachable') plan.unreachable++
    else {
      const group = groupOf(decision, device)
      const key = `${group.channel}|${group.certificateId ?? ''}|${group.topic ?? ''}|${group.node ?? ''}`
      let batch = open.get(key)
      if (!batch || batch.recipients.length >= maxRecipients) {
        batch = { ...group, recipients: [], tried }
        open.set(key, batch)
        plan.batches.push(batch)
      }
      batch.recipients.push(device.id)
      if (device.away && mayCopy(decision, rules)) {
        plan.copies ??= []
        plan.copies.push(device.id)
      }
    }
  }
  return plan
}

/** Only for the first channel: a device that moves on from it has its copy already. */
function mayCopy(decision: Route, { strategy, mayStore, tried }: RouteRules): boolean {
  return decision.to === 'vendor' && strategy === 'combined' && mayStore && tried.size === 0
}

/** A device counts as online only if its node is known, because the batch has to be sent to that node. */
export function routeOf(device: PlanDevice, rules: RouteRules, skipped?: Skipped[]): Route {
  return route(
    {
      platform: device.platform,
      bindings: device.bindings,
      online: device.node !== undefined,
      away: device.away,
    },
    rules,
    skipped,
  )
}

type BatchGroup = Pick<NewBatch, 'channel' | 'certificateId' | 'topic' | 'node'>

function groupOf(decision: Route & { to: 'vendor' | 'native' }, device: PlanDevice): BatchGroup {
  if (decision.to === 'native') return { channel: 'native', node: device.node }
  const { bundleId } = decision.binding as PlanBinding
  return {
    channel: decision.channel,
    certificateId: decision.status.certificateId,
    topic: cardOf(decision.channel).topicPerBinding ? bundleId : undefined,
  }
}

/** Number of devices per channel; the inbox counts as the native channel. */
export function targetsOf(plan: Plan): Map<Channel, number> {
  const targets = new Map<Channel, number>()
  const add = (channel: Channel, count: number) => targets.set(channel, (targets.get(channel) ?? 0) + count)
  for (const batch of plan.batches) add(batch.channel, batch.recipients.length)
  if (plan.inbox.length > 0) add('native', plan.inbox.length)
  return targets
}
