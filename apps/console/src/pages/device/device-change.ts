import {
  type Attributes,
  type DeviceChange,
  type DeviceView,
  fromExactJson,
  type Platform,
  toExactJson,
} from '@herald/client'

/** The fields of a device as the form shows them. */
export type DeviceForm = {
  alias: string
  tags: string[]
  userId: string
  platform: string
  locale: string
  timezone: string
  appVersion: string
  attributes: string
  enabled: boolean
}

export function formOf(device: DeviceView): DeviceForm {
  return {
    alias: device.alias ?? '',
    tags: device.tags,
    userId: device.user_id === null ? '' : String(device.user_id),
    platform: device.platform ?? '',
    locale: device.locale ?? '',
    timezone: device.timezone ?? '',
    appVersion: device.app_version ?? '',
    attributes: device.attributes ? toExactJson(device.attributes, 2) : '',
    enabled: device.enabled,
  }
}

/** The changed fields; a field that was emptied is null. Undefined: nothing was changed. The attributes must be valid. */
export function changeOf(device: DeviceView, form: DeviceForm): DeviceChange | undefined {
  const before = formOf(device)
  const change: Omit<DeviceChange, 'device_guid'> = {}
  const text = (name: 'alias' | 'userId' | 'platform' | 'locale' | 'timezone' | 'appVersion') =>
    form[name].trim() === before[name] ? undefined : form[name].trim() || null
  const alias = text('alias')
  const userId = text('userId')
  const platform = text('platform')
  const locale = text('locale')
  const timezone = text('timezone')
  const appVersion = text('appVersion')
  if (alias !== undefined) change.alias = alias
  // As text: an id beyond 2^53 must stay exact.
  if (userId !== undefined) change.user_id = userId as unknown as bigint | null
  if (platform !== undefined) change.platform = platform as Platform | null
  if (locale !== undefined) change.locale = locale
  if (timezone !== undefined) change.timezone = timezone
  if (appVersion !== undefined) change.app_version = appVersion
  if (form.tags.join('\n') !== before.tags.join('\n')) change.tags = form.tags
  const attributes = form.attributes.trim()
  if (attributes !== before.attributes.trim())
    change.attributes = attributes === '' ? null : (fromExactJson(attributes) as Attributes)
  if (form.enabled !== before.enabled) change.enabled = form.enabled
  return Object.keys(change).length === 0 ? undefined : { device_guid: device.device_guid, ...change }
}
