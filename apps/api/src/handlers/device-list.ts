import { listDevices } from '@herald/db/devices'
import { z } from 'zod'
import { deviceGuid, int64, name, optional, page } from '../input/fields.ts'
import { deviceRecord, showDevice } from '../output/device-record.ts'
import { pageOf, readPage } from '../output/fields.ts'
import { route } from '../route.ts'
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
    const { user_id: userId, alias, tag, token, device_guid: guid } = input
    return readPage(
      input,
      (page) =>
        listDevices(
          context.deps.db,
          context.deps.pushTokens,
          scopeOf(context),
          { userId, alias, tag, token, guid },
          page,
        ),
      (device) => device.deviceId,
      showDevice,
    )
  },
})
