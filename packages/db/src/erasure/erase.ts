import type { PushTokens } from '../devices/push-tokens.ts'
import { rememberErased } from '../ledger/erased-devices.ts'
import type { Database } from '../store/database.ts'
import { retrying } from '../store/errors.ts'
import { eraseFromAudit } from './audit-traces.ts'
import { eraseFromEvents } from './event-traces.ts'
import type { Person } from './person.ts'
import {
  clearInboxes,
  devicesOf,
  type ErasedDevice,
  endMessages,
  eraseDevices,
  firstCreated,
  unusedNames,
} from './person-devices.ts'
import {
  cancelWaiting,
  newestTask,
  openTasks,
  type PersonTraces,
  type TaskSelection,
  tasksAfter,
  tracesIn,
} from './task-traces.ts'
import { eraseUser } from './user.ts'

/**
 * Removes a person from an application and returns how many devices were removed. No step holds locks for long, and each may be
 * repeated: names are removed from tasks before the devices, which are needed to find them, so a call that was interrupted is
 * completed by the next one.
 */
export async function erase(
  db: Database,
  tokens: PushTokens,
  appId: string,
  person: Person,
): Promise<number> {
  if ('userId' in person) await eraseUser(db, appId, person.userId)
  const devices = await devicesOf(db, appId, person)
  // Before their receipts are deleted, and with a commit of its own.
  await retrying(() =>
    rememberErased(
      db.pool,
      devices.map(({ id }) => id),
    ),
  )
  // Clearing an inbox records a failure with the device as a sample, which the next step removes.
  await clearInboxes(db, devices)
  const newest = await newestTask(db, appId)
  const open = await openTasks(db)
  const named = await tracesOf(db, tokens, appId, person, devices)
  // A push that is on its way would show the text that replaces its own. So tasks that wait do not begin any more, and what was planned
  // until then is not sent to these devices.
  for await (const taskIds of tasksAfter(db, named, { upTo: newest, waiting: true }))
    await cancelWaiting(db, named, taskIds)
  await endMessages(db, appId, person)
  await eraseFromTasks(db, named, { upTo: newest })
  const removed = await eraseDevices(db, appId, person)
  // Tasks accepted since, and those that were just being sent.
  const all = [...devices, ...removed]
  const traces = await tracesOf(db, tokens, appId, person, all)
  await eraseFromTasks(db, traces, { after: newest, orOpen: open })
  await eraseFromEvents(db, traces)
  await eraseFromAudit(db, appId, {
    userId: 'userId' in person ? String(person.userId) : undefined,
    guids: [...guidsOf(person), ...all.map(({ guid }) => guid)],
    aliases: traces.aliases,
  })
  return removed.length
}

const guidsOf = (person: Person) => ('guid' in person ? [person.guid] : [])

/** What names the person in tasks. An alias or a Live Activity counts as the person's name if no other device has it. */
async function tracesOf(
  db: Database,
  tokens: PushTokens,
  appId: string,
  person: Person,
  devices: readonly ErasedDevice[],
): Promise<PersonTraces> {
  const aliases = new Set(devices.flatMap(({ alias }) => alias ?? []))
  if ('alias' in person) aliases.delete(person.alias)
  const ids = devices.map(({ id }) => id)
  return {
    appId,
    aliases: [
      ...('alias' in person ? [person.alias] : []),
      ...(await unusedNames(db, 'alias', appId, [...aliases], ids)),
    ],
    activities: await unusedNames(
      db,
      'activity',
      appId,
      [...new Set(devices.flatMap(({ activities }) => activities))],
      ids,
    ),
    userIds: 'userId' in person ? [String(person.userId)] : [],
    hashes: devices.map(({ key }) => key),
    pushTokens: devices.flatMap((device) => tokens.tokenOf(device) ?? []),
    deviceIds: ids,
    vendorTokens: devices.flatMap(({ vendorTokens }) => vendorTokens),
    since: firstCreated(devices),
  }
}

async function eraseFromTasks(db: Database, traces: PersonTraces, selection: TaskSelection): Promise<void> {
  for await (const taskIds of tasksAfter(db, traces, selection)) await tracesIn(db, traces, taskIds)
}
