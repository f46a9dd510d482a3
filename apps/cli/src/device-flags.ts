import type { DeviceChange, Erasure, NewBinding, Platform } from '@herald/client'
import { UsageFailure } from './failure.ts'
import { exampleChannel } from './vendor-fields.ts'

export type DeviceFlags = {
  platform?: string
  alias?: string
  user?: bigint
  tag?: string[]
  addTag?: string[]
  removeTag?: string[]
  binding?: string[]
  development?: boolean
  attributes?: Record<string, unknown>
  locale?: string
  timezone?: string
  appVersion?: string
  enabled?: boolean
  clear?: string[]
}

/** Fields that null clears. */
const clearable = [
  'platform',
  'user_id',
  'alias',
  'tags',
  'bindings',
  'attributes',
  'locale',
  'timezone',
  'app_version',
] as const

/** The body of PUT /admin/device: only the fields that have a flag. Pure. */
export function deviceOf(device_guid: string, flags: DeviceFlags): DeviceChange {
  const given = {
    platform: flags.platform as Platform | undefined,
    user_id: flags.user,
    alias: flags.alias,
    tags: flags.tag,
    add_tags: flags.addTag,
    remove_tags: flags.removeTag,
    bindings: flags.binding?.map((text) => bindingOf(text, flags.development ? 0 : undefined)),
    attributes: flags.attributes as DeviceChange['attributes'],
    locale: flags.locale,
    timezone: flags.timezone,
    app_version: flags.appVersion,
    enabled: flags.enabled,
  }
  const change: DeviceChange = { device_guid }
  for (const [name, value] of Object.entries(given))
    if (value !== undefined) Object.assign(change, { [name]: value })
  for (const name of flags.clear ?? []) {
    if (!(clearable as readonly string[]).includes(name))
      throw new UsageFailure(`--clear takes ${clearable.slice(0, -1).join(', ')} or ${clearable.at(-1)}.`)
    if (name in change) throw new UsageFailure(`${name} is both set and cleared.`)
    Object.assign(change, { [name]: null })
  }
  return change
}

function bindingOf(text: string, environment: 0 | undefined): NewBinding {
  const [, channel, device_token] = /^([a-z0-9]+)=(.+)$/s.exec(text) ?? []
  if (channel === undefined || device_token === undefined)
    throw new UsageFailure(`--binding must be a channel and its token, for example ${exampleChannel}=IQAA….`)
  const provider = (/^\d+$/.test(channel) ? Number(channel) : channel) as NewBinding['provider']
  return { provider, device_token, ...(environment !== undefined && { environment }) }
}

/** What to erase, in words, and the name that the user has to type. Pure. */
export function erasureOf(
  guid: string | undefined,
  { alias, user }: { alias?: string; user?: bigint },
): { erasure: Erasure; what: string; name: string } {
  const given = [guid, alias, user].filter((value) => value !== undefined)
  if (given.length !== 1) throw new UsageFailure('Name one device_guid, --alias or --user.')
  if (guid !== undefined) return { erasure: { device_guid: guid }, what: `the device ${guid}`, name: guid }
  if (alias !== undefined)
    return { erasure: { alias }, what: `all devices with the alias ${alias}`, name: alias }
  return { erasure: { user_id: user! }, what: `the user ${user} and all devices`, name: String(user) }
}
