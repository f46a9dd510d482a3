import type { ChannelAdapter, HeldOutcome } from '../channel.ts'
import { fromCard } from '../shared/from-card.ts'
import { holdRefusals } from '../shared/hold-refusals.ts'
import { lazyTransport } from '../shared/lazy-transport.ts'
import { card } from './card.ts'
import { channelCodes, forbiddenCode } from './classify.ts'
import { notes, warnings } from './notes.ts'
import {
  channelScope,
  countedClass,
  isPassThrough,
  mapPayload,
  withdrawal,
  type XiaomiPayload,
} from './payload.ts'
import { readCallback } from './receipt.ts'
import { readSettings, type XiaomiSettings } from './settings.ts'
import { canonicalToken, checkToken } from './token.ts'

export const adapter: ChannelAdapter<XiaomiSettings, XiaomiPayload> = {
  ...fromCard(card),
  readSettings,
  classOf: countedClass,
  mapPayload,
  withdrawal,
  canonicalToken,
  checkToken,
  warnings,
  notes,
  open: (settings, deps) =>
    holdRefusals(
      lazyTransport(async () => (await import('./transport.ts')).openTransport(settings, deps)),
      { quota: channelScope, refused: refusedScope, of: scopesOf },
      deps,
    ),
  readCallback,
}

const passThroughScope = 'pass-through messages'

function refusedScope({ reason }: HeldOutcome, payload: XiaomiPayload): string | undefined {
  if (reason.code === forbiddenCode && isPassThrough(payload)) return passThroughScope
  return channelCodes.has(reason.code) && payload.channelFrom === 'certificate'
    ? channelScope(payload)
    : undefined
}

function scopesOf(payload: XiaomiPayload): readonly string[] {
  return [
    ...(isPassThrough(payload) ? [passThroughScope] : []),
    ...(payload.channelFrom === 'certificate' ? [channelScope(payload)] : []),
  ]
}
