import {
  findIdentity,
  type Identity,
  type IdentitySettings,
  removeIdentity,
  saveIdentity,
} from '@herald/db/tenants'
import { z } from 'zod'
import { byOf } from '../audit.ts'
import { Failure } from '../codes.ts'
import { KeyProblem, readPublicKey } from '../identity/verification-keys.ts'
import { name, optional, required, text } from '../input/fields.ts'
import { type RouteContext, route } from '../route.ts'

const shared = {
  tag: 'Applications',
  path: '/admin/identity',
  access: 'admin',
  groupRefused: true,
  answer: z.object({
    issuer: z.string().nullable().describe('Null if there are no settings, like all fields but keys.'),
    audience: z.string().nullable(),
    jwks_url: z.string().nullable(),
    public_key: z.string().nullable(),
    user_claim: z.string().nullable(),
    keys: z
      .array(z.object({ kid: z.string().nullable(), alg: z.string() }))
      .describe('The keys in use: the public key, or those that were last read from jwks_url.'),
  }),
} as const

export const putIdentity = route({
  ...shared,
  method: 'put',
  summary: 'Save how sign-in tokens of the application are checked',
  description:
    'Replaces the settings for POST /token/exchange. Either `jwks_url` or `public_key` is required. The settings decide who a user is: a token for a name signs in as the user with that username, also if that user has a password. The keys at `jwks_url` are read now, again when a token has an unknown kid (at most every 30 seconds), and when they are older than an hour; while the address does not answer, the last keys stay in use.',
  example: { issuer: 'login.example.com', audience: 'example-app', public_key: '$PUBLIC_KEY' },
  input: z
    .strictObject({
      issuer: required(name(1024)).describe('The claim `iss` of the tokens, exactly.'),
      audience: required(name(1024)).describe('What the claim `aud` must be, or contain.'),
      jwks_url: optional(name(2048)).describe(
        'https address of the issuer’s JSON Web Key Set. It must be public; for an issuer inside your network send its public_key.',
      ),
      public_key: optional(text(16_384)).describe(
        'PEM of one public key: RSA of at least 2048 bits (RS256), EC P-256 (ES256) or Ed25519 (EdDSA).',
      ),
      user_claim: optional(name(128)).describe('The claim that has the username (default sub).'),
    })
    .superRefine(({ jwks_url, public_key }, context) => {
      if ((jwks_url === undefined) === (public_key === undefined))
        context.addIssue({
          code: 'custom',
          path: ['jwks_url'],
          message: 'or public_key must be sent, and only one of them',
        })
    }),
  async handler(context, input) {
    const { deps, appId } = context
    const common = {
      issuer: input.issuer,
      audience: input.audience,
      userClaim: input.user_claim ?? 'sub',
    }
    if (input.public_key !== undefined) {
      const { pem } = checked('public_key', () => readPublicKey(input.public_key!))
      await save(context, { ...common, publicKey: pem })
    } else await save(context, { ...common, jwksUrl: urlOf(input.jwks_url!) })
    return shown(await findIdentity(deps.db, appId))
  },
})

async function save(context: RouteContext, settings: IdentitySettings): Promise<void> {
  const { deps, appId } = context
  const keys =
    settings.jwksUrl === undefined
      ? undefined
      : await deps.identities.readKeys(settings.jwksUrl).catch((error) => {
          throw problemOf('jwks_url', error)
        })
  await saveIdentity(deps.db, appId, settings, keys, byOf(context))
  deps.identities.forget(appId)
}

function urlOf(url: string): string {
  if (!URL.canParse(url)) throw new Failure(40002, 'jwks_url must be a URL.')
  const { username, password } = new URL(url)
  if (username !== '' || password !== '')
    throw new Failure(40002, 'jwks_url must not contain a user name or password.')
  return url
}

function checked<T>(field: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw problemOf(field, error)
  }
}

function problemOf(field: string, error: unknown): unknown {
  return error instanceof KeyProblem ? new Failure(40002, `${field} ${error.message}.`) : error
}

export const readIdentity = route({
  ...shared,
  method: 'get',
  summary: 'Get how sign-in tokens of the application are checked',
  description: 'Without settings, which is the default, `issuer` is null.',
  input: z.strictObject({}),
  handler: async ({ deps, appId }) => shown(await findIdentity(deps.db, appId)),
})

export const dropIdentity = route({
  ...shared,
  method: 'post',
  path: '/admin/identity/remove',
  summary: 'Remove the identity settings of the application',
  description:
    'Users and their tokens stay; POST /token/exchange fails from now on, on all processes within a second.',
  input: z.strictObject({}),
  answer: z.object({ removed: z.literal(true) }),
  async handler(context) {
    const { deps, appId } = context
    if (!(await removeIdentity(deps.db, appId, byOf(context))))
      throw new Failure(40401, 'The application has no identity settings.')
    deps.identities.forget(appId)
    return { removed: true as const }
  },
})

/** An application without its own sign-in is usual, so its settings are read without a failure. */
const nothing = {
  issuer: null,
  audience: null,
  jwks_url: null,
  public_key: null,
  user_claim: null,
  keys: [],
}

function shown(identity: Identity | undefined) {
  if (!identity) return nothing
  const { issuer, audience, jwksUrl, publicKey, userClaim, keySet } = identity
  const keys =
    publicKey === undefined
      ? keySet.map(({ kid, alg }) => ({ kid: kid ?? null, alg }))
      : [{ kid: null, alg: readPublicKey(publicKey).key.alg }]
  return {
    issuer,
    audience,
    jwks_url: jwksUrl ?? null,
    public_key: publicKey ?? null,
    user_claim: userClaim,
    keys,
  }
}
