import { type ApplicationSettings, applicationSettings, changeApplicationSettings } from '@herald/db/tenants'
import { z } from 'zod'
import { audit } from '../audit.ts'
import { integer, optional } from '../input/fields.ts'
import { route } from '../route.ts'

const settings = {
  tag: 'Applications',
  path: '/admin/app/settings',
  access: 'admin',
  groupRefused: true,
  answer: z.object({
    register: z.boolean().describe('Whether devices may register without a user (POST /push/register).'),
    register_per_day: z.int().describe('Maximum number of new devices that register per day (UTC).'),
  }),
} as const

export const putSettings = route({
  ...settings,
  method: 'put',
  summary: 'Change the settings of the application',
  description: 'A field that is absent or blank stays as it is. The defaults are false and 10000.',
  example: { register: true, register_per_day: 10_000 },
  input: z.strictObject({
    register: optional(z.boolean()),
    register_per_day: optional(integer(0, 1_000_000_000)),
  }),
  async handler(context, input) {
    const { deps, appId } = context
    const change: Partial<ApplicationSettings> = {
      ...(input.register !== undefined && { register: input.register }),
      ...(input.register_per_day !== undefined && { registerPerDay: input.register_per_day }),
    }
    const changed = await changeApplicationSettings(deps.db, appId, change)
    await audit(context, 'application.settings', input)
    return show(changed)
  },
})

export const readSettings = route({
  ...settings,
  method: 'get',
  summary: 'Get the settings of the application',
  input: z.strictObject({}),
  handler: async ({ deps, appId }) => show(await applicationSettings(deps.db, appId)),
})

function show({ register, registerPerDay }: ApplicationSettings) {
  return { register, register_per_day: registerPerDay }
}
