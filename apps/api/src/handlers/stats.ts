import { readStats, SUM_SECONDS } from '@herald/db/history'
import { channelOfPublicName, publicChannelNames } from '@herald/domain'
import { z } from 'zod'
import { Failure } from '../codes.ts'
import { integer, name, optional, required } from '../input/fields.ts'
import { seconds, timestamp } from '../output/fields.ts'
import { route } from '../route.ts'
import { taskScopeOf } from '../scope.ts'

const HOUR = 3600
const lengths = { day: 24 * HOUR, hour: HOUR } as const
const MAX_DAYS = { day: 400, hour: 31 } as const

const time = integer(0, 9_000_000_000)
const counts = {
  target: z.int().describe('Devices assigned to a channel.'),
  sent: z.int().describe('Accepted by the vendor, or written to a connection.'),
  failed: z.int(),
  received: z.int().describe('Devices for which a receipt arrived; not every channel reports them.'),
  clicked: z.int().describe('Devices on which the notification was opened.'),
}
const unreachable = z
  .int()
  .describe('Devices of the audiences that no channel could reach; 0 with `channel`.')

export const pushStats = route({
  method: 'post',
  path: '/push/stats',
  tag: 'Push',
  access: 'admin',
  summary: 'Sum the counters of tasks by day or hour',
  description:
    'A task counts in the period in which it began, with its counters at the time of the call. Sums are kept for 400 days, longer than tasks. Periods begin at `from` and last 24 hours or one hour: for days of your time zone begin at its midnight. At most 400 days by day, 31 days by hour. Two such calls of an application run at a time, up to 50 more wait.',
  example: { from: 1_767_225_600, to: 1_769_904_000, by: 'day' },
  input: z.strictObject({
    from: required(time).describe(
      'Unix time in seconds; the quarter of an hour that contains it is included.',
    ),
    to: required(time).describe(
      'Unix time in seconds; the quarter of an hour that contains it is included, unless it begins then.',
    ),
    by: required(z.enum(['day', 'hour'])),
    channel: optional(z.enum(publicChannelNames)).describe('Count only this channel.'),
    campaign: optional(name(64)).describe('Count only tasks with this `setting.campaign`.'),
  }),
  answer: z.object({
    list: z.array(
      z.object({
        at: timestamp.describe('Start of the period, Unix time in seconds.'),
        ...counts,
        unreachable,
      }),
    ),
    channels: z
      .array(z.object({ channel: z.string(), ...counts }))
      .describe('All periods by channel. A device that moved on is a target of each channel that was tried.'),
    total: z.object({ ...counts, unreachable }).describe('All periods; each device of a task counts once.'),
  }),
  failures: [42901],
  async handler(context, { from, to, by, channel, campaign }) {
    if (to <= from) throw new Failure(40002, 'to must be after from.')
    if (to - from > MAX_DAYS[by] * lengths.day)
      throw new Failure(40002, `from and to may be at most ${MAX_DAYS[by]} days apart with by: ${by}.`)
    const leave = await context.deps.admission.counts.enter(context.appId)
    const { periods, channels, total } = await readStats(context.deps.db, taskScopeOf(context), {
      from: Math.floor(from / SUM_SECONDS) * SUM_SECONDS * 1000,
      to: Math.ceil(to / SUM_SECONDS) * SUM_SECONDS * 1000,
      length: lengths[by] * 1000,
      channel: channel === undefined ? undefined : channelOfPublicName(channel),
      campaign,
    }).finally(leave)
    return { list: periods.map((period) => ({ ...period, at: seconds(period.at) })), channels, total }
  },
})
