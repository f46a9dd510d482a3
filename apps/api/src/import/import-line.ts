import type { ChannelAdapter } from '@herald/channels'
import { type ImportBinding, type ImportDevice, tagsPerDevice } from '@herald/db/devices'
import {
  channelOfProvider,
  type Platform,
  parseExact,
  regionOfBinding,
  regionProblem,
  type VendorChannel,
  vendorChannels,
} from '@herald/domain'
import { isBlank } from '../input/blank.ts'
import { CONTROL, readInt64 } from '../input/fields.ts'
import { quoted, tokenProblem } from '../input/input-failure.ts'

type Adapters = Readonly<Partial<Record<VendorChannel, ChannelAdapter>>>

/** The problem of a line, as the second half of a sentence. */
export class BadLine extends Error {}

const lineFields = new Set(['device_guid', 'user_id', 'platform', 'alias', 'tags', 'bindings'])
const bindingFields = new Set(['provider', 'device_token', 'environment', 'bundle_id', 'region'])
const platforms = new Set(['ios', 'android', 'harmony'])

/** Reads one line of an import. Without a schema, which would cost half a core at 50,000 lines per second. Throws BadLine. */
export function readImportLine(text: string, adapters: Adapters): ImportDevice {
  const line = parse(text)
  if (typeof line !== 'object' || line === null || Array.isArray(line))
    throw new BadLine('is not a JSON object')
  for (const key in line)
    if (!lineFields.has(key)) throw new BadLine(`${quoted(key)} is not a field of a device`)
  const { device_guid, user_id, platform, alias, tags, bindings } = line as Record<string, unknown>
  if (typeof platform !== 'string' || !platforms.has(platform))
    throw new BadLine('platform must be one of ios, android, harmony')
  return {
    guid: textOf('device_guid', device_guid, 255),
    userId: isBlank(user_id) ? undefined : userIdOf(user_id, text),
    platform: platform as Platform,
    alias: isBlank(alias) ? undefined : textOf('alias', alias, 128),
    tags: isBlank(tags) ? undefined : tagsOf(tags),
    bindings: isBlank(bindings) ? [] : bindingsOf(bindings, adapters),
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new BadLine('is not valid JSON')
  }
}

function textOf(name: string, value: unknown, max: number): string {
  if (typeof value !== 'string' || value.trim() === '')
    throw new BadLine(`${name} must be a non-blank string`)
  if (value.length > max && [...value].length > max)
    throw new BadLine(`${name} must have at most ${max} characters`)
  if (CONTROL.test(value)) throw new BadLine(`${name} must not contain control characters`)
  if (!value.isWellFormed()) throw new BadLine(`${name} contains half of a surrogate pair`)
  return value
}

function userIdOf(value: unknown, text: string): string {
  // A number beyond 2^53 is read again with all its digits.
  const rounded = typeof value === 'number' && !Number.isSafeInteger(value)
  const read = readInt64(rounded ? (parseExact(text) as { user_id: unknown }).user_id : value)
  if (read === undefined) throw new BadLine('user_id must be a 64-bit integer')
  return String(read)
}

function tagsOf(value: unknown): string[] {
  if (!Array.isArray(value)) throw new BadLine('tags must be a list')
  if (value.length > tagsPerDevice) throw new BadLine(`tags must have at most ${tagsPerDevice} items`)
  return value.map((tag, index) => textOf(`tags[${index}]`, tag, 64))
}

function bindingsOf(value: unknown, adapters: Adapters): ImportBinding[] {
  if (!Array.isArray(value)) throw new BadLine('bindings must be a list')
  const seen = new Set<VendorChannel>()
  return value.map((item, index) => {
    const binding = bindingOf(item, `bindings[${index}]`, adapters)
    if (seen.has(binding.channel))
      throw new BadLine(`bindings[${index}] has the same provider as another binding`)
    seen.add(binding.channel)
    return binding
  })
}

function bindingOf(item: unknown, path: string, adapters: Adapters): ImportBinding {
  if (typeof item !== 'object' || item === null || Array.isArray(item))
    throw new BadLine(`${path} must be an object`)
  for (const key in item)
    if (!bindingFields.has(key)) throw new BadLine(`${path}.${quoted(key)} is not a field of a binding`)
  const { provider, device_token, environment, bundle_id, region } = item as Record<string, unknown>
  const channel = typeof provider === 'number' ? channelOfProvider(provider) : undefined
  if (!channel) throw new BadLine(`${path}.provider must be an integer from 1 to ${vendorChannels.length}`)
  const place = isBlank(environment) ? 1 : environment
  if (place !== 0 && place !== 1) throw new BadLine(`${path}.environment must be 0 or 1`)
  const token = textOf(`${path}.device_token`, device_token, 4096)
  const problem = adapters[channel]?.checkToken(token)
  if (problem) throw new BadLine(tokenProblem(`${path}.device_token`, problem))
  const bundleId = isBlank(bundle_id) ? undefined : textOf(`${path}.bundle_id`, bundle_id, 255)
  const named = isBlank(region) ? undefined : textOf(`${path}.region`, region, 255)
  const unknown = named === undefined ? undefined : regionProblem(channel, named)
  if (unknown) throw new BadLine(`${path}.region ${unknown}`)
  return {
    channel,
    token,
    environment: place,
    bundleId,
    region: regionOfBinding(channel, adapters[channel]?.regionOf?.(token), named),
  }
}
