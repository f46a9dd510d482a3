import { createApplication, listApplications } from '@herald/db/tenants'
import { z } from 'zod'
import { byOf } from '../audit.ts'
import { Failure } from '../codes.ts'
import { integer, name, optional, required } from '../input/fields.ts'
import { seconds, timestamp } from '../output/fields.ts'
import { route } from '../route.ts'

const tag = 'Applications'

export const addApplication = route({
  method: 'post',
  path: '/admin/app',
  tag,
  access: 'operator',
  summary: 'Create an application',
  description: 'The secret is returned only once.',
  input: z.strictObject({ name: required(name(128)), package_name: optional(name(255)) }),
  answer: z.object({ app_id: z.string(), app_secret: z.string() }),
  failures: [40901],
  example: { name: 'Example shop', package_name: 'com.example.shop' },
  async handler(context, input) {
    const application = { name: input.name, packageName: input.package_name ?? '' }
    const created = await createApplication(context.deps.db, application, byOf(context))
    if (created === 'taken') throw new Failure(40901, 'An application with this name already exists.')
    return { app_id: created.appId, app_secret: created.appSecret }
  },
})

export const renewSecret = route({
  method: 'post',
  path: '/admin/app/secret',
  tag,
  access: 'operator',
  summary: 'Rotate the secret of an application',
  description:
    'All admin tokens and all console sessions of the application become invalid within two seconds. User tokens and push tokens stay valid. The old secret ends at once, or after `keep_old_seconds`, so that servers can get the new one without an outage; a second rotation ends it. The new secret is returned only once.',
  input: z.strictObject({
    app_id: required(name(32)),
    keep_old_seconds: optional(integer(0, 86_400)).describe(
      'For how long the old secret stays good too (default 0).',
    ),
  }),
  answer: z.object({ app_id: z.string(), app_secret: z.string() }),
  failures: [40401],
  example: { app_id: '$OTHER_APP_ID' },
  async handler(context, input) {
    const keepOldSeconds = input.keep_old_seconds ?? 0
    const appSecret = await context.deps.sessions.renewSecret(input.app_id, keepOldSeconds, byOf(context))
    if (appSecret === undefined) throw new Failure(40401, 'No application has this app_id.')
    return { app_id: input.app_id, app_secret: appSecret }
  },
})

export const applicationList = route({
  method: 'get',
  path: '/admin/app/list',
  tag,
  access: 'operator',
  summary: 'List applications',
  input: z.strictObject({}),
  answer: z.array(
    z.object({ app_id: z.string(), name: z.string(), package_name: z.string(), created_at: timestamp }),
  ),
  async handler({ deps }) {
    return (await listApplications(deps.db)).map((application) => ({
      app_id: application.appId,
      name: application.name,
      package_name: application.packageName,
      created_at: seconds(application.createdAt),
    }))
  },
})
