import { addAudit } from '@herald/db/ledger'
import {
  checkApplicationSecret,
  countLoginAttempt,
  recordFailedSignIn,
  uncountLoginAttempt,
} from '@herald/db/tenants'
import { publicName } from '@herald/domain'
import { z } from 'zod'
import { byOf } from '../audit.ts'
import type { ConsoleSession } from '../auth/console-sessions.ts'
import { guesserOf, lockedOut } from '../auth/operator-key.ts'
import { isSameSecret } from '../auth/passwords.ts'
import { Failure } from '../codes.ts'
import type { ApiDeps } from '../deps.ts'
import { optional, text } from '../input/fields.ts'
import { type RouteContext, route } from '../route.ts'

const path = '/console/session'
const tag = 'Console'

const who = z.object({
  role: z.enum(['operator', 'application']),
  app_id: z.string().optional(),
  name: z.string().optional(),
  simulated: z.array(z.string()).describe('Channels whose vendor this process simulates.'),
})

const credentials = z
  .strictObject({
    operator_key: optional(text(1024)),
    app_id: optional(text(32)),
    app_secret: optional(text(256)),
  })
  .refine(
    ({ operator_key, app_id, app_secret }) =>
      operator_key === undefined
        ? app_id !== undefined && app_secret !== undefined
        : app_id === undefined && app_secret === undefined,
    { error: 'must have either operator_key, or app_id and app_secret' },
  )

export const signIn = route({
  method: 'post',
  path,
  tag,
  access: 'visitor',
  limit: 'login',
  summary: 'Sign in to the console',
  input: credentials,
  answer: who,
  async handler(context, input) {
    const { deps, browser } = context
    // Counted per address, not per name: wrong guesses from elsewhere must not lock the operator out.
    const guesser = guesserOf(context.address)
    const locked = await countLoginAttempt(deps.db, '', guesser)
    if (locked) throw lockedOut(locked.waitSeconds)
    const session = await recognise(context, input)
    if (!session) {
      const role = input.operator_key === undefined ? 'application' : 'operator'
      deps.log.warn({ requestId: context.requestId, address: context.address, role }, 'a sign-in failed')
      await recordFailedSignIn(deps.db, {
        appId: await knownApplication(context, input.app_id),
        by: byOf(context),
        action: 'console.sign_in_failed',
        detail: { role },
      })
      throw new Failure(40103, refusal(input.operator_key))
    }
    await uncountLoginAttempt(deps.db, '', guesser)
    const appId = session.role === 'application' ? session.application.appId : ''
    const actor = session.role === 'operator' ? 'operator' : 'admin'
    await addAudit(deps.db.pool, {
      appId,
      by: { actor, address: context.address },
      action: 'console.sign_in',
    })
    // A new sign-in ends the former session.
    if (browser.key !== undefined) await deps.consoleSessions.close(browser.key)
    browser.setCookie(await deps.consoleSessions.open(session))
    return shown(deps, session)
  },
})

/** Its admins see the entry; that of an unknown application is the operator's. */
async function knownApplication(
  { deps }: RouteContext,
  appId: string | undefined,
): Promise<string | undefined> {
  if (appId === undefined) return undefined
  return (await deps.sessions.application(appId))?.appId
}

/** The same message whether or not the application exists. */
function refusal(operatorKey: string | undefined): string {
  return operatorKey === undefined
    ? 'The sign-in failed: the app_id or the app_secret is wrong.'
    : 'The sign-in failed: the operator_key is wrong.'
}

async function recognise(
  { deps }: RouteContext,
  { operator_key, app_id = '', app_secret = '' }: z.output<typeof credentials>,
): Promise<ConsoleSession | undefined> {
  if (operator_key !== undefined)
    return deps.operatorKey !== undefined && isSameSecret(operator_key, deps.operatorKey)
      ? { role: 'operator' }
      : undefined
  const known = await checkApplicationSecret(deps.db, app_id, app_secret)
  const application = known && (await deps.sessions.application(app_id))
  if (!application) return undefined
  const { tokenVersion, until } = known
  return { role: 'application', application: { ...application, tokenVersion }, until }
}

function shown({ simulation }: ApiDeps, session: ConsoleSession): z.input<typeof who> {
  const simulated = (simulation?.channels ?? []).map(publicName)
  if (session.role === 'operator') return { role: 'operator', simulated }
  const { appId, name } = session.application
  return { role: 'application', app_id: appId, name, simulated }
}

export const whoAmI = route({
  method: 'get',
  path,
  tag,
  access: 'console',
  groupRefused: true,
  summary: 'Who is signed in',
  input: z.strictObject({}),
  answer: who,
  handler: async ({ deps, caller, application }) =>
    shown(deps, caller.role === 'operator' ? { role: 'operator' } : { role: 'application', application }),
})

export const signOut = route({
  method: 'delete',
  path,
  tag,
  access: 'console',
  groupRefused: true,
  summary: 'Sign out of the console',
  input: z.strictObject({}),
  answer: z.object({ signed_out: z.literal(true) }),
  async handler({ deps, browser }) {
    if (browser.key !== undefined) await deps.consoleSessions.close(browser.key)
    browser.setCookie('')
    return { signed_out: true as const }
  },
})
