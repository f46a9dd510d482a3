import { sequenceWords, strategies } from '@herald/domain'
import { z } from 'zod'
import { integer, name, optional } from '../input/fields.ts'

/** How a push is to be sent. */
export const setting = optional(
  z.strictObject({
    request_id: optional(name(128)).describe(
      'Deduplication ID. The same ID again pushes nothing and answers the first task. Blank means no deduplication.',
    ),
    distribution_strategy: optional(z.enum(strategies)).describe(
      '`combined`: native first, vendor if the device is not online there; blank means combined.',
    ),
    ospush_sequence: optional(z.array(z.enum(sequenceWords))).describe(
      'Vendor priority; `ups` stands for Xiaomi, Huawei, Meizu, OPPO, vivo and Honor. Blank means [ups, fcm].',
    ),
    speed: optional(integer(1, 1_000_000)).describe('Devices per second over all channels.'),
    priority: optional(z.enum(['high', 'normal'])).describe(
      'Blank means high up to 1000 devices, normal beyond.',
    ),
    ttl: optional(integer(0, 2_592_000)).describe(
      'Seconds the push may wait for the device; default 86400; 0 = only if reachable now.',
    ),
    message_class: optional(z.enum(['service', 'marketing'])).describe(
      'Blank means the default of the certificate, else marketing.',
    ),
  }),
)
