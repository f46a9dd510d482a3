import { addAudit } from '@herald/db/ledger'
import {
  checkApplicationSecret,
  findUserById,
  findUserByLogin,
  findUserByName,
  recordFailedSignIn,
  userNamed,
} from '@herald/db/tenants'
import { z } from 'zod'
import { byOf } from '../audit.ts'
import { limitFailures, logIn, signIn, tokenRecord } from '../auth/log-in.ts'
import { Failure } from '../codes.ts'
import { TokenProblem } from '../identity/id-token.ts'
import { deviceGuid, int64, name, optional, required, text } from '../input/fields.ts'
import { int64Out, timestamp } from '../output/fields.ts'
import { route } from '../route.ts'

const password = required(text(1024))
const device = optional(deviceGuid).describe(
  'ID of the installation, unguessable. If set, the user becomes the owner of the device, and the response contains its push token.',
)

const adminRecord = z.object({
  access_key_secret: z
    .string()
    .describe(
      'File key: 32 random bytes in hex, new for each login. For other services of your own; Herald does not use it.',
    ),
  encrypt_type: z.int().describe('Whether an encrypted connection is enabled; always 0.'),
  expire: timestamp.describe('Expiry of the token, Unix time in seconds.'),
  public_key: z.string().describe('PEM of the key that verifies `token`.'),
  store_token: z
    .string()
    .describe('File token: a JWT with the audience `store`, for other services of your own.'),
  token: z.string().describe('Access token: the value of the header `access-token` on later calls.'),
})
const userRecord = adminRecord.extend({
  user_id: int64Out,
  push_token: z.string().optional().describe('Present when device_guid was sent.'),
})

const failureLimits =
  'Failed logins are limited: ten per name and per user in 15 minutes, and per address. A server that logs in for its users sends its admin token, too: calls with it have no limit per address.'

const login = {
  method: 'post',
  tag: 'Tokens',
  access: 'public',
  limit: 'login',
  description: failureLimits,
  answer: userRecord,
  failures: [40103, 42902],
} as const

export const tokenById = route({
  ...login,
  path: '/token/id',
  summary: 'Token by user ID and password',
  example: { user_id: '$USER_ID', password: '$PASSWORD', device_guid: 'demo-native' },
  input: z.strictObject({ user_id: required(int64), password, device_guid: device }),
  handler: (context, input) =>
    logIn(context, {
      login: `#${input.user_id}`,
      password: input.password,
      deviceGuid: input.device_guid,
      find: () => findUserById(context.deps.db, context.appId, input.user_id),
    }),
})

export const tokenByLogin = route({
  ...login,
  path: '/token/login',
  summary: 'Token by login name and password',
  description: `The login name is a mobile number, an email or a username, looked up in this order. ${failureLimits}`,
  example: { login_name: '$USERNAME', password: '$PASSWORD' },
  input: z.strictObject({ login_name: required(name(320)), password, device_guid: device }),
  handler: (context, input) =>
    logIn(context, {
      login: input.login_name.toLowerCase(),
      password: input.password,
      deviceGuid: input.device_guid,
      find: () => findUserByLogin(context.deps.db, context.appId, input.login_name),
    }),
})

export const tokenByName = route({
  ...login,
  path: '/token/user',
  summary: 'Token by username and password',
  example: { name: '$USERNAME', password: '$PASSWORD', device_guid: 'example-tablet' },
  input: z.strictObject({ name: required(name(320)), password, device_guid: device }),
  handler: (context, input) =>
    logIn(context, {
      login: input.name.toLowerCase(),
      password: input.password,
      deviceGuid: input.device_guid,
      find: () => findUserByName(context.deps.db, context.appId, input.name),
    }),
})

export const exchangeToken = route({
  ...login,
  path: '/token/exchange',
  actsForNobody: true,
  summary: 'Token by a sign-in token of the application itself',
  description:
    'Takes a JWT that the application’s own sign-in has issued, and checks it as PUT /admin/identity says: signature (RS256, ES256 or EdDSA), issuer, audience, expiry. Save the settings first: PUT /admin/identity. The user is the one whose username is the claim `user_claim`; an unknown one is created, without a password. Failed logins are limited per address.',
  example: { id_token: '$ID_TOKEN', device_guid: 'example-exchange' },
  input: z.strictObject({ id_token: required(text(16_384)), device_guid: device }),
  async handler(context, input) {
    const { deps, appId } = context
    const username = await limitFailures(context, async () => {
      try {
        return await deps.identities.usernameIn(appId, input.id_token)
      } catch (error) {
        if (!(error instanceof TokenProblem)) throw error
        await recordFailedSignIn(deps.db, {
          appId,
          by: byOf(context),
          action: 'login.failed',
          detail: { problem: error.message },
        })
        throw new Failure(40103, `The login failed: the id_token ${error.message}.`)
      }
    })
    return signIn(context, await userNamed(deps.db, appId, username), input.device_guid)
  },
})

export const tokenForAdmin = route({
  ...login,
  path: '/token/admin',
  actsForNobody: true,
  summary: 'Admin token by the secret of the application',
  description: 'Failed logins are limited per address.',
  example: { app_secret: '$APP_SECRET' },
  input: z.strictObject({ app_secret: required(text(256)) }),
  answer: adminRecord,
  async handler(context, { app_secret }) {
    const { deps, appId } = context
    const { tokenVersion: version, until } = await limitFailures(context, async () => {
      const known = await checkApplicationSecret(deps.db, appId, app_secret)
      if (known) return known
      await recordFailedSignIn(deps.db, { appId, by: byOf(context), action: 'token.admin_refused' })
      throw new Failure(40103, 'The login failed: the app_secret is wrong.')
    })
    const by = { actor: 'admin', address: context.address }
    await addAudit(deps.db.pool, { appId, by, action: 'token.admin' })
    return tokenRecord(deps.sessions.tokens, { app: appId, role: 'admin', subject: appId, version }, until)
  },
})

export const revokeTokens = route({
  method: 'post',
  path: '/token/revoke',
  tag: 'Tokens',
  access: 'anyone',
  groupRefused: true,
  summary: 'Revoke all tokens of the acting user',
  description:
    'Takes effect on all processes within 2 seconds. The push tokens of the user’s devices are replaced, too; a login returns the new one. An admin token without the header user_id revokes all admin tokens of its application.',
  // As the admin, or as the demo's user, the example would end a token that other examples use.
  shownAs: '$OTHER_USER_ID',
  input: z.strictObject({}),
  answer: z.object({ revoked: z.literal(true) }),
  async handler(context) {
    const { deps, appId, caller } = context
    if (caller.role === 'user') await deps.sessions.revokeUser(appId, caller.userId, byOf(context))
    else await deps.sessions.revokeAdmins(appId, byOf(context))
    return { revoked: true as const }
  },
})
