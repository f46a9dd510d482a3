import { createApplication, listApplications, renameApplication } from '@herald/db/tenants'
import { isPackageName } from '@herald/domain'
import { z } from 'zod'
import { byOf } from '../audit.ts'
import { Failure } from '../codes.ts'
import { changeable, integer, name, optional, required } from '../input/fields.ts'
import { seconds, timestamp } from '../output/fields.ts'
import { route } from '../route.ts'

const tag = 'Applications'

const packageName = name(255).refine((value) => isPackageName(value), {
  error: 'must be a package name or bundle ID such as com.example.shop',
})
const nameTaken = () => new Failure(40901, 'An application with this name already exists.')

export const addApplication = route({
  method: 'post',
  path: '/admin/app',
  tag,
  access: 'operator',
  summary: 'Create an application',
  description: 'The secret is returned only once.',
  input: z.strictObject({ name: required(name(128)), package_name: optional(packageName) }),
  answer: z.object({ app_id: z.string(), app_secret: z.string() }),
  failures: [40901],
  example: { name: 'Example shop', package_name: 'com.example.shop' },
  async handler(context, input) {
    const application = { name: input.name, packageName: input.package_name ?? '' }
    const created = await createApplication(context.deps.db, application, byOf(context))
    if (created === 'taken') throw nameTaken()
    return { app_id: created.appId, app_secret: created.appSecret }
  },
})

export const changeApplication = route({
  method: 'put',
  path: '/admin/app',
  tag,
  access: 'operator',
  summary: 'Rename an application',
  description: 'Fields that are left out stay as they are. The app_id never changes.',
  input: z.strictObject({
    app_id: required(name(32)),
    name: optional(name(128)),
    package_name: changeable(packageName).describe('Blank removes it.'),
  }),
  answer: z.object({ app_id: z.string() }),
  failures: [40401, 40901],
  example: { app_id: '$OTHER_APP_ID', name: 'Example store' },
  async handler(context, { app_id, name, package_name }) {
    const change = { name, packageName: package_name === null ? '' : package_name }
    const changed = await renameApplication(context.deps.db, app_id, change, byOf(context))
    if (changed === 'unknown') throw new Failure(40401, 'No application has this app_id.')
    if (changed === 'taken') throw nameTaken()
    return { app_id }
  },
})

export const renewSecret = route({
  method: 'post',
  path: '/admin/app/secret',
  tag,
  access: 'owner',
  groupRefused: true,
  summary: 'Rotate the secret of an application',
  description:
    'All admin tokens and all console sessions of the application become invalid within two seconds. User tokens and push tokens stay valid. The old secret ends at once, or after `keep_old_seconds`, so that servers can get the new one without an outage; a second rotation ends it. The new secret is returned only once.',
  input: z.strictObject({
    app_id: optional(name(32)).describe('The application. Needed with the operator key only.'),
    keep_old_seconds: optional(integer(0, 86_400)).describe(
      'For how long the old secret stays valid too (default 0).',
    ),
  }),
  answer: z.object({ app_id: z.string(), app_secret: z.string() }),
  failures: [40401],
  example: { app_id: '$OTHER_APP_ID' },
  async handler(context, input) {
    const { appId, caller, deps } = context
    if (caller.role === 'admin' && input.app_id !== undefined && input.app_id !== appId)
      throw new Failure(40301, 'Only the operator may do this for another application.')
    const named = input.app_id ?? (caller.role === 'admin' ? appId : undefined)
    if (named === undefined) throw new Failure(40002, 'app_id is required with the operator key.')
    const appSecret = await deps.sessions.renewSecret(named, input.keep_old_seconds ?? 0, byOf(context))
    if (appSecret === undefined) throw new Failure(40401, 'No application has this app_id.')
    return { app_id: named, app_secret: appSecret }
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
