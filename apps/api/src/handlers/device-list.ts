import { type DeviceDetails, listDevices } from '@herald/db/devices'
import { z } from 'zod'
import { deviceGuid, int64, name, optional, page } from '../input/fields.ts'
import { deviceRecord, showDevice } from '../output/device-record.ts'
import { pageOf, readPage } from '../output/fields.ts'
import { type RouteContext, route } from '../route.ts'
import { scopeOf } from '../scope.ts'

export const deviceList = route({
  method: 'post',
  path: '/admin/device/list',
  tag: 'Devices',
  access: 'admin',
  summary: 'Search devices by user, alias, tag, token or device_guid',
  description: 'Conditions are combined with AND. Sorted by device_id, ascending.',
  example: { tag: 'vip', limit: 10 },
  input: z.strictObject({
    user_id: optional(int64),
    alias: optional(name(1024)),
    tag: optional(name(1024)),
    token: optional(name(4096)).describe('A vendor token or a push token.'),
    device_guid: optional(deviceGuid),
    ...page,
  }),
  answer: pageOf(deviceRecord),
  handler(context, input) {
    const { user_id: userId, alias, tag, device_guid: guid } = input
    const { db, pushTokens } = context.deps
    const tokens = tokenForms(context, input.token)
    const search = async (page: { limit: number; after?: bigint }) => {
      const find = (token: string | undefined) =>
        listDevices(db, pushTokens, scopeOf(context), { userId, alias, tag, token, guid }, page)
      return merge(await Promise.all(tokens.map(find)), page.limit)
    }
    return readPage(input, search, (device) => device.deviceId, showDevice)
  },
})

/** The token as typed, and as it is stored for vendors of which it may be. */
function tokenForms({ deps }: RouteContext, typed: string | undefined): readonly (string | undefined)[] {
  if (typed === undefined) return [typed]
  const forms = new Set([typed])
  for (const adapter of Object.values(deps.adapters)) {
    const form = adapter.canonicalToken?.(typed)
    if (form !== undefined && adapter.checkToken(form) === undefined) forms.add(form)
  }
  return [...forms]
}

function merge([first = [], ...more]: DeviceDetails[][], limit: number): DeviceDetails[] {
  if (more.length === 0) return first
  const byId = new Map([first, ...more].flat().map((device) => [device.deviceId, device]))
  return [...byId.values()].sort((a, b) => a.deviceId - b.deviceId).slice(0, limit)
}
