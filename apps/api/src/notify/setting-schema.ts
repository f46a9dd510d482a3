import { cardOf, defaultSequence, sequenceWords, strategies, upsChannels } from '@herald/domain'
import { z } from 'zod'
import { integer, name, optional } from '../input/fields.ts'

const ups = upsChannels.map((channel) => cardOf(channel).title.en).join(', ')

export const settingFields = z.strictObject({
  request_id: optional(name(128)).describe(
    'Deduplication ID. Repeating it pushes nothing and returns the id of the first task. Blank: no deduplication.',
  ),
  distribution_strategy: optional(z.enum(strategies)).describe(
    '`combined`: native channel first, a vendor channel if the device is not connected (default: that of the application, otherwise combined).',
  ),
  ospush_sequence: optional(z.array(z.enum(sequenceWords))).describe(
    `Vendor priority; \`ups\` is short for ${ups} (default [${defaultSequence.join(', ')}]).`,
  ),
  speed: optional(integer(1, 1_000_000)).describe('Maximum devices per second over all channels.'),
  priority: optional(z.enum(['high', 'normal'])).describe('Default: high up to 1000 devices, normal above.'),
  ttl: optional(integer(0, 2_592_000)).describe(
    'Seconds that the push may wait for the device (default: that of the application, otherwise 86400); 0: only if it is reachable now.',
  ),
  message_class: optional(z.enum(['service', 'marketing'])).describe(
    'Default: that of the certificate, otherwise marketing.',
  ),
  campaign: optional(name(64)).describe(
    'What the push belongs to: sums tasks in POST /push/stats and selects them in POST /push/task/list.',
  ),
  events: optional(z.boolean()).describe(
    'True: events about each device go to the webhooks and the event list (default: only if a webhook names the campaign).',
  ),
})

/** How to send a push. */
export const setting = optional(settingFields)
