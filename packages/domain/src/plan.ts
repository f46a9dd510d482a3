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

/** The plan of no device. It is shared: callers must not change it. */
export const noPlan: Plan = { batches: [], inbox: [], unreachable: 0 }

/** Devices that differ in nothing that their route depends on. */
export type DeviceGroup = Omit<PlanDevice, 'id'> & {
  /** Ascending. */
  ids: readonly number[]
}

/**
 * Routes devices and groups them into batches by channel, certificate, topic and node. `devices` must be in ascending order
 * of id. A batch has at most `speed` recipients, so that the pace can be kept second by second.
 */
export function planDevices(devices: Iterable<PlanDevice>, rules: RouteRules, speed?: number): Plan {
  if (Array.isArray(devices) && devices.length === 1) return planOne(devices[0], rules)
  const planning = beginPlan(rules, speed)
  for (const device of devices) planning.add(device, [device.id])
  return planning.end()
}

/** Most tasks have one device: nothing has to be grouped, sorted or cut. */
function planOne(device: PlanDevice, rules: RouteRules): Plan {
  const plan: Plan = { batches: [], inbox: [], unreachable: 0 }
  const decision = routeOf(device, rules)
  if (decision.to === 'inbox') plan.inbox.push(device.id)
  else if (decision.to === 'unreachable') plan.unreachable = 1
  else {
    plan.batches.push({
      ...groupOf(decision, device),
      recipients: [device.id],
      tried: [...rules.tried],
    })
    if (device.away && mayCopy(decision, rules)) plan.copies = [device.id]
  }
  return plan
}

/** The same for groups of devices, each of which is routed once. */
export function planGroups(groups: Iterable<DeviceGroup>, rules: RouteRules, speed?: number): Plan {
  const planning = beginPlan(rules, speed)
  for (const group of groups) planning.add(group, group.ids)
  return planning.end()
}

function beginPlan(rules: RouteRules, speed: number | undefined) {
  const maxRecipients = Math.max(1, Math.min(batchSize, speed ?? batchSize))
  const destinations = new Map<string, { group: BatchGroup; ids: number[] }>()
  const plan: Plan = { batches: [], inbox: [], unreachable: 0 }
  const tried = [...rules.tried]
  return {
    add(device: Omit<PlanDevice, 'id'>, ids: readonly number[]): void {
      const decision = routeOf(device, rules)
      if (decision.to === 'inbox') append(plan.inbox, ids)
      else if (decision.to === 'unreachable') plan.unreachable += ids.length
      else {
        const group = groupOf(decision, device)
        const key = `${group.channel}|${group.certificateId ?? ''}|${group.topic ?? ''}|${group.node ?? ''}`
        const known = destinations.get(key)
        if (known) append(known.ids, ids)
        else destinations.set(key, { group, ids: [...ids] })
        if (device.away && mayCopy(decision, rules)) {
          plan.copies ??= []
          append(plan.copies, ids)
        }
      }
    },
    end(): Plan {
      for (const { group, ids } of destinations.values()) {
        sortAscending(ids)
        for (let from = 0; from < ids.length; from += maxRecipients)
          plan.batches.push({ ...group, recipients: ids.slice(from, from + maxRecipients), tried })
      }
      sortAscending(plan.inbox)
      if (plan.copies) sortAscending(plan.copies)
      return plan
    },
  }
}

/** Not `push(...ids)`: a page has more devices than a call may have arguments. */
function append(list: number[], ids: readonly number[]): void {
  for (const id of ids) list.push(id)
}

/** Devices of one group are ascending, those of several are not. */
function sortAscending(ids: number[]): void {
  for (let i = 1; i < ids.length; i++) {
    if (ids[i - 1]! < ids[i]!) continue
    ids.sort((a, b) => a - b)
    return
  }
}

/** Only for the first channel: a device that moves on from it has its copy already. */
function mayCopy(decision: Route, { strategy, mayStore, tried }: RouteRules): boolean {
  return decision.to === 'vendor' && strategy === 'combined' && mayStore && tried.size === 0
}

/** A device counts as online only if its node is known, because the batch has to be sent to that node. */
export function routeOf(device: Omit<PlanDevice, 'id'>, rules: RouteRules, skipped?: Skipped[]): Route {
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

function groupOf(
  decision: Route & { to: 'vendor' | 'native' },
  { node }: Pick<PlanDevice, 'node'>,
): BatchGroup {
  if (decision.to === 'native') return { channel: 'native', node }
  const { bundleId } = decision.binding as PlanBinding
  return {
    channel: decision.channel,
    certificateId: decision.status.certificateId,
    topic: cardOf(decision.channel).topicPerBinding ? bundleId : undefined,
  }
}

/** Number of devices per channel; the inbox counts as the native channel. */
export function targetsOf(...plans: readonly Plan[]): Map<Channel, number> {
  const targets = new Map<Channel, number>()
  const add = (channel: Channel, count: number) => targets.set(channel, (targets.get(channel) ?? 0) + count)
  for (const { batches, inbox } of plans) {
    for (const batch of batches) add(batch.channel, batch.recipients.length)
    if (inbox.length > 0) add('native', inbox.length)
  }
  return targets
}
