import type { Audience } from '@herald/domain'
import { z } from 'zod'
import { isBlank } from '../input/blank.ts'
import { int64, text } from '../input/fields.ts'

const MAX_ITEMS = 500
const KEYS = 'tag, alias, user_id, push_token or activity'

/** Blank entries match no device and are dropped; a list without other entries is blank. */
const dropBlankItems = (value: unknown) => {
  if (!Array.isArray(value)) return isBlank(value) ? undefined : value
  const items = value.filter((item) => !(typeof item === 'string' && item.trim() === ''))
  return items.length === 0 ? undefined : items
}

const list = <Item extends z.ZodType>(item: Item) =>
  z.preprocess(dropBlankItems, z.array(item).optional()).meta({ maxItems: MAX_ITEMS })

const keys = z.strictObject({
  tag: list(text(1024)).describe('Devices with any of these tags.'),
  alias: list(text(1024)).describe('Devices with any of these aliases.'),
  user_id: list(int64).describe('Devices of any of these users.'),
  push_token: list(text(1024)).describe('Devices with any of these push tokens.'),
  activity: list(text(255)).describe(
    'Devices that show any of these Live Activities, bound with POST /user/activity; only with message.ios.live_activity.',
  ),
})

type Keys = z.output<typeof keys>
type Key = keyof Keys

/** Of one key each: nearly all audiences have one, and a schema costs time for every key that it knows. */
const single = new Map(
  Object.entries(keys.shape).map(([key, items]) => [
    key,
    z.strictObject({ [key]: items }) as z.ZodType<Keys>,
  ]),
)

function readKeys(value: object): ReturnType<typeof keys.safeParse> {
  const [key, other] = Object.keys(value)
  const schema = other === undefined ? single.get(key as Key) : undefined
  const read = schema?.safeParse(value)
  return read?.success ? read : keys.safeParse(value)
}

function audienceOf(value: Keys): Audience | undefined {
  const given = Object.values(value).filter((items) => items !== undefined)
  if (given.length !== 1) return undefined
  if (value.tag) return { kind: 'tag', tags: value.tag }
  if (value.alias) return { kind: 'alias', aliases: value.alias }
  if (value.user_id) return { kind: 'user_id', userIds: value.user_id }
  if (value.activity) return { kind: 'activity', activities: value.activity }
  return { kind: 'push_token', pushTokens: value.push_token! }
}

/** The recipients of a push. Its failure code is 40003, except for an unknown key or an item of the wrong type. */
export const audience = z
  .unknown()
  .transform((value, context): Audience => {
    const refuse = (message: string) => {
      context.issues.push({ code: 'custom', input: value, message, params: { code: 40003 } })
      return z.NEVER
    }
    if (isBlank(value)) return refuse('must not be blank')
    if (value === 'all') return { kind: 'all' }
    if (typeof value !== 'object' || Array.isArray(value))
      return refuse(`must be the string all or an object with one of ${KEYS}`)
    for (const [key, items] of Object.entries(value as object))
      if (Array.isArray(items) && items.length > MAX_ITEMS && Object.hasOwn(keys.shape, key))
        return refuse(`must have at most ${MAX_ITEMS} items in ${key}`)
    const read = readKeys(value as object)
    if (!read.success) {
      context.issues.push(...read.error.issues.map((issue) => ({ ...issue, input: value }) as never))
      return z.NEVER
    }
    return audienceOf(read.data) ?? refuse(`must have exactly one non-blank key of ${KEYS}`)
  })
  .meta({
    description: 'The string `all`, or an object with exactly one non-blank key of at most 500 items.',
    oneOf: [{ type: 'string', const: 'all' }, z.toJSONSchema(keys, jsonSchemaOptions())],
  })

function jsonSchemaOptions() {
  return {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }: { jsonSchema: { $schema?: string } }) => {
      delete jsonSchema.$schema
    },
  } as const
}
