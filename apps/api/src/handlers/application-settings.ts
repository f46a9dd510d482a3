import {
  type ApplicationSettings,
  applicationSettings,
  changeApplicationSettings,
  defaultApplicationSettings,
} from '@herald/db/tenants'
import { strategies } from '@herald/domain'
import { z } from 'zod'
import { byOf } from '../audit.ts'
import { changeable, integer } from '../input/fields.ts'
import { pushDefaults } from '../notify/new-task.ts'
import { route } from '../route.ts'

const about = {
  strategy: 'distribution_strategy of pushes that name none.',
  ttl: 'ttl of pushes that name none, in seconds.',
  perDevice:
    'Marketing messages per device, channel and day, for certificates without extra.limits.per_device_per_day; 0: no cap.',
}

const settings = {
  tag: 'Applications',
  path: '/admin/app/settings',
  access: 'admin',
  groupRefused: true,
  answer: z.object({
    default_strategy: z.enum(strategies).describe(about.strategy),
    default_ttl: z.int().describe(about.ttl),
    register: z.boolean().describe('Whether devices may register without a user (POST /push/register).'),
    register_per_day: z.int().describe('Maximum number of new devices that register per day (UTC).'),
    caps: z.object({
      per_device_per_day: z.int().nullable().describe(`${about.perDevice} Null: the vendor’s own number.`),
    }),
  }),
} as const

export const putSettings = route({
  ...settings,
  method: 'put',
  summary: 'Change the settings of the application',
  description:
    'A field that is absent stays as it is; null selects the default. The defaults are combined, 86400, false, 10000 and the vendors’ own caps. Other processes use the new values within a second.',
  example: { default_strategy: 'combined', default_ttl: 86_400, register: true, register_per_day: 10_000 },
  input: z.strictObject({
    default_strategy: changeable(z.enum(strategies)).describe(about.strategy),
    default_ttl: changeable(integer(0, 2_592_000)).describe(about.ttl),
    register: changeable(z.boolean()),
    register_per_day: changeable(integer(0, 1_000_000_000)),
    caps: changeable(
      z.strictObject({ per_device_per_day: changeable(integer(0, 255)).describe(about.perDevice) }),
    ),
  }),
  async handler(context, input) {
    const { deps, appId } = context
    const perDevice = input.caps === null ? null : input.caps?.per_device_per_day
    const change = changeOf({
      defaultStrategy: input.default_strategy,
      defaultTtl: input.default_ttl,
      register: input.register,
      registerPerDay: input.register_per_day,
      perDevicePerDay: perDevice,
    })
    const changed = await changeApplicationSettings(deps.db, appId, change, byOf(context))
    deps.sessions.forgetApplication(appId)
    deps.certificates.forget(appId)
    return show(changed)
  },
})

/** Leaves out what is undefined, and puts the default for null. */
function changeOf(
  wanted: {
    [K in keyof ApplicationSettings]: ApplicationSettings[K] | null | undefined
  },
): Partial<ApplicationSettings> {
  return Object.fromEntries(
    Object.entries(wanted).flatMap(([name, value]) =>
      value === undefined
        ? []
        : [[name, value ?? defaultApplicationSettings[name as keyof ApplicationSettings]]],
    ),
  )
}

export const readSettings = route({
  ...settings,
  method: 'get',
  summary: 'Get the settings of the application',
  input: z.strictObject({}),
  handler: async ({ deps, appId }) => show(await applicationSettings(deps.db, appId)),
})

function show(settings: ApplicationSettings) {
  return {
    default_strategy: settings.defaultStrategy ?? pushDefaults.strategy,
    default_ttl: settings.defaultTtl ?? pushDefaults.ttl,
    register: settings.register,
    register_per_day: settings.registerPerDay,
    caps: { per_device_per_day: settings.perDevicePerDay },
  }
}
