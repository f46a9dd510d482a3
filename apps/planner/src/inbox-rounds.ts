import {
  emptyInboxes,
  inboxesOfErased,
  inboxesOfRemoved,
  overfullInboxes,
  trimInboxes,
} from '@herald/db/ledger'
import type { NativeDeps } from './native-round.ts'

export type InboxDeps = Pick<NativeDeps, 'db' | 'onEnded'>

/** Trims the inboxes of devices that do not connect, and empties those of devices that were removed while they were planned. */
export async function trimRound(deps: InboxDeps): Promise<boolean> {
  const { db, onEnded } = deps
  await forEachPage(
    (last) => overfullInboxes(db, last),
    async (devices) => onEnded('native', 'expired', (await trimInboxes(db, devices)).unsent),
  )
  await forEachPage(
    (last) => inboxesOfRemoved(db, last),
    (devices) => empty(deps, devices),
  )
  return false
}

/** Empties the inboxes of devices that were erased while they were planned. Returns whether there may be more to do. */
export async function erasedRound(deps: InboxDeps): Promise<boolean> {
  const devices = await inboxesOfErased(deps.db)
  if (devices.length > 0) await empty(deps, devices)
  return devices.length > 0
}

async function empty({ db, onEnded }: InboxDeps, devices: readonly number[]): Promise<void> {
  onEnded('native', 'expired', (await emptyInboxes(db, devices)).unsent)
}

async function forEachPage(
  read: (last: number) => Promise<number[]>,
  handle: (devices: readonly number[]) => Promise<void>,
): Promise<void> {
  for (let last: number | undefined = 0; last !== undefined; ) {
    const devices = await read(last)
    if (devices.length > 0) await handle(devices)
    last = devices.at(-1)
  }
}
