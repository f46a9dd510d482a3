import { cardOf, type Platform, parseExact, type VendorChannel } from '@herald/domain'
import type { TagNumber } from './tag-cache.ts'

/** A binding that a device gets; without a token, the channel's binding is removed. */
export type BindingChange = {
  channel: VendorChannel
  token: string | null
  environment: 0 | 1
  bundleId?: string
  /** Unset: the vendor's usual one. */
  region?: string
  /** As for `bind`. */
  canonicalToken?(token: string): string
}

/** What one entry of a batch or line of an import says about a device. An absent field stays as it is; null clears it. */
export type DeviceChange = {
  guid: string
  userId?: string | null
  /** If it is absent and unknown, it follows from the bindings. */
  platform?: Platform | null
  alias?: string | null
  locale?: string | null
  timezone?: string | null
  appVersion?: string | null
  /** A flat object as JSON. */
  attributes?: string | null
  enabled?: boolean
  /** Replaces all tags; not together with the next two. */
  tags?: string[]
  addTags?: string[]
  removeTags?: string[]
  /** Other bindings stay; null removes all. */
  bindings?: BindingChange[] | null
}

/** The fields of a device that are stored in its own row. */
export type DeviceFields = {
  userId: string | null
  platform: string | null
  alias: string | null
  locale: string | null
  timezone: string | null
  appVersion: string | null
  attributes: string | null
  enabled: boolean
}

const fieldNames = [
  'userId',
  'platform',
  'alias',
  'locale',
  'timezone',
  'appVersion',
  'attributes',
  'enabled',
] as const satisfies (keyof DeviceFields)[]

export type ChangedFields = {
  /** Of a new device, absent fields have their defaults. */
  fields: Partial<DeviceFields>
  isChanged: boolean
  /** The device had an owner and gets another or none: what belongs to the former one is cleared. */
  ownerChanged: boolean
  /**
   * Messages that wait or are on their way are not for it any more: it has another owner, or another alias, which is the person for
   * applications that have their own users.
   */
  personChanged: boolean
  disabled: boolean
}

/** Makes few objects: those of a batch live until it is written, and copying them is most of what an import costs the collector. */
function newDevice(change: DeviceChange): ChangedFields {
  const platform = platformOfNew(change)
  return {
    fields: platform === change.platform ? change : { ...change, platform },
    isChanged: true,
    ownerChanged: false,
    personChanged: false,
    disabled: false,
  }
}

/** Applies a change to the fields of a known device, or of a new one. */
export function applyChange(change: DeviceChange, known?: DeviceFields): ChangedFields {
  if (!known) return newDevice(change)
  const userId = change.userId === undefined ? known.userId : change.userId
  const ownerChanged = known.userId !== null && known.userId !== userId
  const formerAlias = ownerChanged ? null : known.alias
  const fields: DeviceFields = {
    userId,
    platform: platformOf(change, known.platform),
    alias: change.alias === undefined ? formerAlias : change.alias,
    locale: change.locale === undefined ? known.locale : change.locale,
    timezone: change.timezone === undefined ? known.timezone : change.timezone,
    appVersion: change.appVersion === undefined ? known.appVersion : change.appVersion,
    attributes: change.attributes === undefined ? known.attributes : change.attributes,
    enabled: change.enabled ?? known.enabled,
  }
  if (sameAttributes(fields.attributes, known.attributes)) fields.attributes = known.attributes
  return {
    fields,
    isChanged: fieldNames.some((name) => fields[name] !== known[name]),
    ownerChanged,
    personChanged: ownerChanged || (known.alias !== null && fields.alias !== known.alias),
    disabled: known.enabled && !fields.enabled,
  }
}

export const platformOfNew = (change: DeviceChange) => platformOf(change, null)

/** As a bind does: a channel for one platform decides, otherwise the known one stays, otherwise the channel's usual one. */
function platformOf({ platform, bindings }: DeviceChange, known: string | null): string | null {
  if (platform !== undefined) return platform
  const bound = bindings?.find(({ token }) => token !== null)
  if (!bound) return known
  const sole = bindings!.find(({ token, channel }) => token !== null && cardOf(channel).solePlatform)
  return (sole && cardOf(sole.channel).solePlatform!) ?? known ?? cardOf(bound.channel).defaultPlatform
}

/** Postgres writes JSON with other spaces and another order of keys. */
function sameAttributes(a: string | null, b: string | null): boolean {
  if (a === b || a === null || b === null) return a === b
  const [left, right] = [a, b].map((text) => parseExact(text) as Record<string, unknown>)
  const keys = Object.keys(left!)
  return keys.length === Object.keys(right!).length && keys.every((key) => left![key] === right![key])
}

/**
 * Returns the indexes of changes in rounds, to be written one after another. In a round no device and no vendor token occurs twice, so
 * its order does not matter; of two changes with a device or token in common the later one is in a later round.
 */
export function inRounds(changes: readonly DeviceChange[]): number[][] {
  const rounds: number[][] = []
  const lastOfGuid = new Map<string, number>()
  const lastOfToken = new Map<string, number>()
  changes.forEach((change, index) => {
    let round = lastOfGuid.get(change.guid) ?? -1
    const bindings = change.bindings ?? []
    // Two channels seldom have a token in common, so it is not worth a key with the channel.
    for (const { token } of bindings)
      if (token !== null) round = Math.max(round, lastOfToken.get(token) ?? -1)
    round++
    lastOfGuid.set(change.guid, round)
    for (const { token } of bindings) if (token !== null) lastOfToken.set(token, round)
    const list = rounds[round]
    if (list) list.push(index)
    else rounds.push([index])
  })
  return rounds
}

const none: number[] = []

/** The numbers of a device's tags after a change; undefined if it does not change them. `current` are those before. */
export function tagsAfter(
  change: DeviceChange,
  current: ReadonlySet<number>,
  tagNumber: TagNumber,
): { added: number[]; removed: number[]; total: number } | undefined {
  if (!change.tags && !change.addTags && !change.removeTags) return undefined
  const numbers = (names: string[] | undefined) => names?.flatMap((name) => tagNumber(name) ?? [])
  const tags = numbers(change.tags)
  const addTags = numbers(change.addTags)
  const removeTags = numbers(change.removeTags)
  if (current.size === 0 && !removeTags) {
    const added = [...new Set(tags ?? addTags)]
    return { added, removed: none, total: added.length }
  }
  const after = new Set(tags ?? current)
  for (const tag of removeTags ?? []) after.delete(tag)
  for (const tag of addTags ?? []) after.add(tag)
  return {
    added: [...after].filter((tag) => !current.has(tag)),
    removed: [...current].filter((tag) => !after.has(tag)),
    total: after.size,
  }
}
