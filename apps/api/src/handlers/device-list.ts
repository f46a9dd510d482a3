import { listDevices } from '@herald/db/devices'
import { z } from 'zod'
import { cutPage, DEFAULT_PAGE, pageOf } from '../input/answers.ts'
import { deviceGuid, int64, name, optional, page } from '../input/fields.ts'
import { route } from '../route.ts'
import { deviceRecord, showDevice } from './device-record.ts'
import { scopeOf } from './scope.ts'

export const deviceList = route({
  method: 'post',
  path: '/admin/device/list',
  tag: 'Devices',
  access: 'admin',
  summary: 'Search devices by user, alias, tag, token or guid',
  description: 'Several conditions must all hold. Ascending by device_id, in pages.',
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
  async handler(context, input) {
    const limit = input.limit ?? DEFAULT_PAGE
    const rows = await listDevices(
      context.deps.db,
      scopeOf(context),
      {
        userId: input.user_id,
        alias: input.alias,
        tag: input.tag,
        token: input.token,
        guid: input.device_guid,
      },
      { after: input.after, limit: limit + 1 },
    )
    return cutPage(rows, limit, (device) => device.deviceId, showDevice)
  },
})
