import { isDeepStrictEqual } from 'node:util'
import type { ChannelAdapter } from '@herald/channels'
import { type BindingChange, type DeviceChange, tagsPerDevice } from '@herald/db/devices'
import {
  cardOf,
  channelOfProvider,
  type Platform,
  parseExact,
  platforms,
  providerNamed,
  regionOfBinding,
  regionProblem,
  toJson,
  type VendorChannel,
  vendorChannels,
} from '@herald/domain'
import type { Code } from '../codes.ts'
import { scanJson } from '../http/json-scan.ts'
import { isBlank } from '../input/blank.ts'
import { CONTROL, MAX_DEVICE_TOKEN, readInt64 } from '../input/fields.ts'
import { quoted, tokenProblem } from '../input/input-failure.ts'
import { storedToken } from '../input/stored-token.ts'
import { canonicalLocale, isTimezone } from './locale.ts'

type Adapters = Readonly<Partial<Record<VendorChannel, ChannelAdapter>>>

/** The problem of a device, as the second half of a sentence. */
export class BadDevice extends Error {
  readonly code: Code

  constructor(problem: string, code: Code = 40002) {
    super(problem)
    this.code = code
  }
}

export const limits = {
  guid: 255,
  alias: 128,
  tag: 64,
  appVersion: 64,
  attributes: 20,
  attributeName: 64,
  attributeText: 256,
  bundleId: 255,
  deviceToken: MAX_DEVICE_TOKEN,
} as const

const deviceFields = new Set([
  'device_guid',
  'user_id',
  'platform',
  'alias',
  'tags',
  'add_tags',
  'remove_tags',
  'bindings',
  'attributes',
  'locale',
  'timezone',
  'app_version',
  'enabled',
])
const bindingFields = new Set(['provider', 'device_token', 'environment', 'bundle_id', 'region'])
const platformNames: ReadonlySet<string> = new Set(platforms)

/** Reads one line of an import. Throws BadDevice. */
export function readImportLine(text: string, adapters: Adapters): DeviceChange {
  let line: unknown
  try {
    line = JSON.parse(text)
  } catch {
    throw new BadDevice('is not valid JSON')
  }
  const change = readDevice(line, adapters, text)
  refuseDuplicates(text, line as Record<string, unknown>)
  return change
}

/**
 * JSON.parse keeps the last of two equal keys. Each key has a colon, so none occurs twice in a text whose colons are those of the keys that
 * were read and of the tokens (some have one). Only other texts are scanned, which costs as much as parsing them.
 */
function refuseDuplicates(text: string, device: Record<string, unknown>): void {
  if (!text.includes('\\') && colonsIn(text) === expectedColons(device)) return
  const { duplicate } = scanJson(text, { maxDepth: Number.POSITIVE_INFINITY })
  if (duplicate !== undefined) throw new BadDevice(`the field ${quoted(duplicate)} occurs twice`, 40001)
}

function expectedColons(device: Record<string, unknown>): number {
  const { attributes, bindings } = device
  let count = keysIn(device) + keysIn(attributes)
  if (Array.isArray(bindings))
    for (const binding of bindings) {
      count += keysIn(binding)
      const { device_token } = binding as { device_token: unknown }
      if (typeof device_token === 'string') count += colonsIn(device_token)
    }
  return count
}

function keysIn(value: unknown): number {
  let count = 0
  if (typeof value === 'object' && value !== null) for (const _key in value) count++
  return count
}

function colonsIn(text: string): number {
  let count = 0
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) count++
  return count
}

/**
 * Reads what a caller says about a device. Without a schema, which would cost half a core at 50,000 devices per second. `text` is the
 * JSON of a value that was parsed without care for numbers beyond 2^53. Throws BadDevice.
 */
export function readDevice(value: unknown, adapters: Adapters, text?: string): DeviceChange {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new BadDevice('is not a JSON object', 40001)
  for (const key in value)
    if (!deviceFields.has(key)) throw new BadDevice(`${quoted(key)} is not a field of a device`, 40001)
  const device = value as Record<string, unknown>
  const exact = () => (text === undefined ? device : (parseExact(text) as typeof device))
  const { tags, add_tags, remove_tags } = device
  const change: DeviceChange = { guid: textOf('device_guid', device.device_guid, limits.guid) }
  if (device.user_id !== undefined) change.userId = userIdOf(device.user_id, exact)
  if (device.platform !== undefined) change.platform = platformOf(device.platform)
  if (device.alias !== undefined) change.alias = textOrNull('alias', device.alias, limits.alias)
  if (device.locale !== undefined) change.locale = localeOf(device.locale)
  if (device.timezone !== undefined) change.timezone = timezoneOf(device.timezone)
  if (device.app_version !== undefined)
    change.appVersion = textOrNull('app_version', device.app_version, limits.appVersion)
  if (device.attributes !== undefined) change.attributes = attributesOf(device.attributes, exact)
  if (device.enabled !== undefined) change.enabled = enabledOf(device.enabled)
  if (tags !== undefined) change.tags = tagsOf('tags', tags)
  if (!isBlank(add_tags)) change.addTags = tagsOf('add_tags', add_tags)
  if (!isBlank(remove_tags)) change.removeTags = tagsOf('remove_tags', remove_tags)
  checkTags(change)
  if (device.bindings !== undefined) change.bindings = bindingsOf(device.bindings, adapters)
  checkPlatform(change)
  return change
}

function textOf(name: string, value: unknown, max: number): string {
  const problem = textProblem(value, max)
  if (problem !== undefined) throw new BadDevice(`${name} ${problem}`)
  return value as string
}

/** Like `textOf`, of an item of a list: makes its name only if it is needed. */
function itemOf(list: string, index: number, field: string, value: unknown, max: number): string {
  const problem = textProblem(value, max)
  if (problem !== undefined) throw new BadDevice(`${list}[${index}]${field} ${problem}`)
  return value as string
}

function textProblem(value: unknown, max: number): string | undefined {
  if (typeof value !== 'string' || value.trim() === '') return 'must be a non-blank string'
  return charactersProblem(value, max)
}

function charactersProblem(value: string, max: number): string | undefined {
  if (value.length > max && [...value].length > max) return `must have at most ${max} characters`
  if (CONTROL.test(value)) return 'must not contain control characters'
  if (!value.isWellFormed()) return 'contains half of a surrogate pair'
  return undefined
}

/** A blank value clears the field. */
function textOrNull(name: string, value: unknown, max: number): string | null {
  return isBlank(value) ? null : textOf(name, value, max)
}

function userIdOf(value: unknown, exact: () => Record<string, unknown>): string | null {
  if (isBlank(value)) return null
  const rounded = typeof value === 'number' && !Number.isSafeInteger(value)
  const read = readInt64(rounded ? exact().user_id : value)
  if (read === undefined) throw new BadDevice('user_id must be a 64-bit integer')
  return String(read)
}

function platformOf(value: unknown): Platform | null {
  if (isBlank(value)) return null
  if (typeof value !== 'string' || !platformNames.has(value))
    throw new BadDevice(`platform must be one of ${platforms.join(', ')}`)
  return value as Platform
}

function localeOf(value: unknown): string | null {
  const text = textOrNull('locale', value, 64)
  if (text === null) return null
  const locale = canonicalLocale(text)
  if (locale === undefined) throw new BadDevice('locale must be a language tag such as zh-CN')
  return locale
}

function timezoneOf(value: unknown): string | null {
  const text = textOrNull('timezone', value, 64)
  if (text !== null && !isTimezone(text))
    throw new BadDevice('timezone must be an IANA name such as Asia/Shanghai')
  return text
}

function enabledOf(value: unknown): boolean {
  if (isBlank(value)) return true
  if (typeof value !== 'boolean') throw new BadDevice('enabled must be true or false')
  return value
}

/** Returns JSON. */
function attributesOf(value: unknown, exact: () => Record<string, unknown>): string | null {
  if (isBlank(value)) return null
  if (typeof value !== 'object' || Array.isArray(value)) throw new BadDevice('attributes must be an object')
  let attributes = value as Record<string, unknown>
  const entries = Object.entries(attributes)
  if (entries.length > limits.attributes)
    throw new BadDevice(`attributes must have at most ${limits.attributes} keys`)
  for (const [key, field] of entries) {
    textOf('a key of attributes', key, limits.attributeName)
    const path = `attributes.${quoted(key)}`
    if (typeof field === 'string') {
      const problem = charactersProblem(field, limits.attributeText)
      if (problem !== undefined) throw new BadDevice(`${path} ${problem}`)
    } else if (typeof field === 'number') {
      if (!Number.isFinite(field)) throw new BadDevice(`${path} is too large`)
      if (Number.isInteger(field) && !Number.isSafeInteger(field)) {
        attributes = exact().attributes as Record<string, unknown>
        attributeInteger(path, attributes[key])
      }
    } else if (typeof field === 'bigint') attributeInteger(path, field)
    else if (typeof field !== 'boolean')
      throw new BadDevice(`${path} must be a text, a number, true or false`)
  }
  return toJson(attributes)
}

function attributeInteger(path: string, value: unknown): void {
  if (typeof value === 'bigint' && readInt64(value) === undefined)
    throw new BadDevice(`${path} is not a 64-bit integer`)
}

function tagsOf(name: string, value: unknown): string[] {
  if (isBlank(value)) return []
  if (!Array.isArray(value)) throw new BadDevice(`${name} must be a list`)
  const tags = new Set(value.map((tag, index) => itemOf(name, index, '', tag, limits.tag)))
  if (tags.size > tagsPerDevice) throw new BadDevice(`${name} must have at most ${tagsPerDevice} items`)
  return [...tags]
}

function checkTags({ tags, addTags, removeTags }: DeviceChange): void {
  if (tags && (addTags || removeTags))
    throw new BadDevice('tags replaces all tags: send either tags, or add_tags and remove_tags')
  if (!addTags || !removeTags) return
  const both = addTags.find((tag) => removeTags.includes(tag))
  if (both !== undefined) throw new BadDevice(`${quoted(both)} is in both add_tags and remove_tags`)
}

function bindingsOf(value: unknown, adapters: Adapters): BindingChange[] | null {
  if (value === null) return null
  if (isBlank(value)) return []
  if (!Array.isArray(value)) throw new BadDevice('bindings must be a list')
  const bindings: BindingChange[] = []
  for (let index = 0; index < value.length; index++) {
    const binding = bindingOf(value[index], index, adapters)
    const other = bindings.find(({ channel }) => channel === binding.channel)
    if (!other) bindings.push(binding)
    else if (!isDeepStrictEqual(other, binding))
      throw new BadDevice(`bindings[${index}] has the same provider as another binding`)
  }
  return bindings
}

/** A binding on a channel of another platform could never be used. */
function checkPlatform({ platform, bindings }: DeviceChange): void {
  if (!platform || !bindings) return
  for (const { channel, token } of bindings) {
    const { solePlatform, provider } = cardOf(channel)
    if (token !== null && solePlatform && solePlatform !== platform)
      throw new BadDevice(`platform must be ${solePlatform} for provider ${provider}`)
  }
}

function channelOf(provider: unknown): VendorChannel | undefined {
  const number = providerNamed(provider)
  return number === undefined ? undefined : channelOfProvider(number)
}

function bindingOf(item: unknown, index: number, adapters: Adapters): BindingChange {
  if (typeof item !== 'object' || item === null || Array.isArray(item))
    throw new BadDevice(`bindings[${index}] must be an object`)
  for (const key in item)
    if (!bindingFields.has(key))
      throw new BadDevice(`bindings[${index}].${quoted(key)} is not a field of a binding`, 40001)
  const { provider, device_token, environment, bundle_id, region } = item as Record<string, unknown>
  const channel = channelOf(provider)
  if (!channel)
    throw new BadDevice(
      `bindings[${index}].provider must be an integer from 1 to ${vendorChannels.length} or the name of a channel`,
    )
  const place = isBlank(environment) ? 1 : environment
  if (place !== 0 && place !== 1) throw new BadDevice(`bindings[${index}].environment must be 0 or 1`)
  if (device_token === null) return { channel, token: null, environment: place }
  const typed = itemOf('bindings', index, '.device_token', device_token, limits.deviceToken)
  // UTF-8 needs at most three bytes per unit.
  if (typed.length * 3 > limits.deviceToken && Buffer.byteLength(typed) > limits.deviceToken)
    throw new BadDevice(`bindings[${index}].device_token must have at most ${limits.deviceToken} bytes`)
  const adapter = adapters[channel]
  const token = storedToken(adapter, typed)
  const problem = adapter?.checkToken(token)
  if (problem) throw new BadDevice(tokenProblem(`bindings[${index}].device_token`, problem))
  const bundleId = isBlank(bundle_id)
    ? undefined
    : itemOf('bindings', index, '.bundle_id', bundle_id, limits.bundleId)
  const named = isBlank(region) ? undefined : itemOf('bindings', index, '.region', region, 255)
  const unknown = named === undefined ? undefined : regionProblem(channel, named)
  if (unknown) throw new BadDevice(`bindings[${index}].region ${unknown}`)
  return {
    channel,
    token,
    canonicalToken: adapter?.canonicalToken,
    environment: place,
    bundleId,
    region: regionOfBinding(channel, adapter?.regionOf?.(token), named),
  }
}
