import type { ChannelAdapter } from '../channel.ts'
import { categories } from './categories.ts'
import { classOf, mapPayload, type VivoPayload } from './payload.ts'
import { readCallback } from './receipt.ts'
import { classificationOf, limits, readSettings, type VivoSettings } from './settings.ts'
import { openVivo } from './transport.ts'

export const vivo: ChannelAdapter<VivoSettings, VivoPayload> = {
  name: 'vivo',
  tokensPerCall: 1000,
  onePerDevice: false,
  readSettings,
  limits,
  defaultClass: (settings) => settings.defaultClass,
  classOf(task, settings) {
    const { classification, category } = classOf(task, settings)
    const counted = classification ?? (category === undefined ? undefined : categories[category])
    if (counted === undefined) return task.messageClass
    const classes = [
      task.messageClass,
      counted === 1 ? 'service' : 'marketing',
      'service',
      'marketing',
    ] as const
    return classes.find((name) => classificationOf(settings, name) === counted) ?? classes[1]
  },
  mapPayload,
  // Old tokens have 23 digits, newer ones are longer and base64: no length is taken for granted.
  checkToken: (token) =>
    /^[A-Za-z0-9_=-]{16,128}$/.test(token)
      ? undefined
      : 'a vivo regId has 16 to 128 letters, digits, _, = or -',
  open: openVivo,
  readCallback,
}
