import type { ChannelAdapter } from '../channel.ts'
import { type MeizuPayload, mapPayload } from './payload.ts'
import { readCallback } from './receipt.ts'
import { limits, type MeizuSettings, readSettings } from './settings.ts'
import { openMeizu } from './transport.ts'

export const meizu: ChannelAdapter<MeizuSettings, MeizuPayload> = {
  name: 'meizu',
  // Documents before August 2023 say 1000.
  tokensPerCall: 100,
  onePerDevice: false,
  readSettings,
  limits,
  defaultClass: (settings) => settings.defaultClass,
  mapPayload,
  // A comma would split the token in two.
  checkToken: (token) =>
    /^[0-9A-Za-z]{16,128}$/.test(token) ? undefined : 'a Meizu pushId has 16 to 128 letters and digits',
  open: openMeizu,
  readCallback,
}
