import { erase, type Person } from '@herald/db/erasure'
import { audited } from '@herald/db/ledger'
import { z } from 'zod'
import { byOf } from '../audit.ts'
import { Failure } from '../codes.ts'
import { deviceGuid, int64, optional, text } from '../input/fields.ts'
import { route } from '../route.ts'

export const erasePerson = route({
  method: 'post',
  path: '/admin/erase',
  tag: 'Devices',
  access: 'admin',
  groupRefused: true,
  summary: 'Erase a person',
  description:
    'Takes exactly one of user_id, alias and device_guid. Removes its devices with bindings, retired tokens, tags, badges, inbox entries and receipts, its names from audiences, failures and the audit, and for user_id the user. Pushes in progress end as expired for these devices. A task that named nobody else loses its text, and is cancelled if it has not begun. Safe to repeat: for an unknown person it returns 0. What is left, in backups and logs, is in docs/operations.md.',
  example: { alias: 'example-customer' },
  input: z
    .strictObject({
      user_id: optional(int64).describe('A user of Herald, with all its devices.'),
      alias: optional(text(1024)).describe('All devices with this alias.'),
      device_guid: optional(deviceGuid).describe('One device.'),
    })
    .meta({ minProperties: 1, maxProperties: 1 }),
  answer: z.object({ devices: z.int().describe('Number of devices that were removed.') }),
  async handler(context, input) {
    const { deps, appId } = context
    const person = personOf(input)
    const devices = await audited(
      deps.db,
      // Without the name: the audit is kept for a year.
      { appId, by: byOf(context), action: 'person.erase', detail: { by: kindOf(person) } },
      () => erase(deps.db, deps.pushTokens, appId, person),
      (devices) => ({ devices }),
    )
    if ('userId' in person) deps.sessions.forgetUser(appId, person.userId)
    return { devices }
  },
})

function personOf(input: { user_id?: bigint; alias?: string; device_guid?: string }): Person {
  const { user_id: userId, alias, device_guid: guid } = input
  const given: Person[] = []
  if (userId !== undefined) given.push({ userId })
  if (alias !== undefined) given.push({ alias })
  if (guid !== undefined) given.push({ guid })
  if (given.length !== 1) throw new Failure(40002, 'Exactly one of user_id, alias and device_guid is needed.')
  return given[0]!
}

function kindOf(person: Person): string {
  return 'userId' in person ? 'user_id' : 'alias' in person ? 'alias' : 'device_guid'
}
