import type { ApplicationSettings, SettingsChange, Strategy } from '@herald/client'

/** The settings as the form shows them. */
export type SettingsForm = {
  strategy: string
  ttl: string
  register: boolean
  registerPerDay: string
  perDevicePerDay: string
}

export function formOf(settings: ApplicationSettings): SettingsForm {
  return {
    strategy: settings.default_strategy,
    ttl: String(settings.default_ttl),
    register: settings.register,
    registerPerDay: String(settings.register_per_day),
    perDevicePerDay: String(settings.caps.per_device_per_day ?? ''),
  }
}

/** The changed settings; one that was emptied is null, its default. Undefined: nothing was changed. */
export function changeOf(settings: ApplicationSettings, form: SettingsForm): SettingsChange | undefined {
  const before = formOf(settings)
  const change: SettingsChange = {}
  const number = (name: 'ttl' | 'registerPerDay' | 'perDevicePerDay') =>
    form[name].trim() === before[name] ? undefined : form[name].trim() === '' ? null : Number(form[name])
  const ttl = number('ttl')
  const registerPerDay = number('registerPerDay')
  const perDevicePerDay = number('perDevicePerDay')
  if (form.strategy !== before.strategy) change.default_strategy = form.strategy as Strategy
  if (ttl !== undefined) change.default_ttl = ttl
  if (form.register !== before.register) change.register = form.register
  if (registerPerDay !== undefined) change.register_per_day = registerPerDay
  if (perDevicePerDay !== undefined) change.caps = { per_device_per_day: perDevicePerDay }
  return Object.keys(change).length === 0 ? undefined : change
}
