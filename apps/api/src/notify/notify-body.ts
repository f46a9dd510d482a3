import { z } from 'zod'
import { optional } from '../input/fields.ts'
import { audience } from './audience.ts'
import { checkLiveActivity } from './live-activity.ts'
import { type MessageFields, message, messageFields, messageWith } from './message-schema.ts'
import { setting, settingFields } from './setting-schema.ts'

/** The body of notify. */
export const notifyBody = z.strictObject({ audience, setting, message }).superRefine(checkLiveActivity)

type Read = ReturnType<typeof notifyBody.safeParse>

/** Bodies with the same fields from which they get a schema of their own: making it costs as much as checking a hundred. */
const OFTEN = 100
const MAX_SCHEMAS = 256
const MAX_COUNTED = 1000

/**
 * Checks bodies as `notifyBody` does. Its schema costs time and memory for each of its forty fields, also for those that a body does not
 * have, and callers send bodies of the same few fields: these get a schema of their fields alone. Only what it accepts is taken from it;
 * everything else is read by the whole schema, which knows why it is refused.
 */
export function createNotifyBodyReader(): (value: unknown) => Read {
  const counts = new Map<string, number>()
  const schemas = new Map<string, typeof notifyBody>()

  function schemaFor(fields: Fields): typeof notifyBody | undefined {
    const key = `${fields.setting} ${fields.message}`
    const known = schemas.get(key)
    if (known) return known
    const count = (counts.get(key) ?? 0) + 1
    if (count < OFTEN) {
      if (counts.size >= MAX_COUNTED) counts.clear()
      counts.set(key, count)
      return undefined
    }
    counts.delete(key)
    if (schemas.size >= MAX_SCHEMAS) schemas.clear()
    const made = schemaOf(fields)
    schemas.set(key, made)
    return made
  }

  return (value) => {
    const fields = fieldsIn(value)
    const read = fields && schemaFor(fields)?.safeParse(value)
    return read?.success ? read : notifyBody.safeParse(value)
  }
}

export const readNotifyBody = createNotifyBodyReader()

type Fields = { setting: string[] | undefined; message: string[] }

/** The fields of a body of the usual shape, of which all are known. */
function fieldsIn(value: unknown): Fields | undefined {
  if (!isObject(value)) return undefined
  const { setting: how, message: what } = value
  if (!isObject(what) || (how !== undefined && !isObject(how))) return undefined
  const message = knownKeys(what, messageFields.shape)
  const setting = how && knownKeys(how, settingFields.shape)
  return message && (how === undefined || setting) ? { setting, message } : undefined
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function knownKeys(value: object, shape: object): string[] | undefined {
  const keys = Object.keys(value)
  return keys.every((key) => Object.hasOwn(shape, key)) ? keys : undefined
}

function schemaOf(fields: Fields): typeof notifyBody {
  const shape = {
    audience,
    ...(fields.setting && { setting: optional(only(settingFields, fields.setting)) }),
    message: messageWith(only(messageFields, fields.message) as unknown as z.ZodType<MessageFields>),
  }
  return z.strictObject(shape).superRefine(checkLiveActivity as never) as unknown as typeof notifyBody
}

function only(schema: z.ZodObject, keys: readonly string[]) {
  return z.strictObject(Object.fromEntries(keys.map((key) => [key, schema.shape[key]!])))
}
