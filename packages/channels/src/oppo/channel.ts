import type { ChannelAdapter, HeldOutcome } from '../channel.ts'
import { fromCard } from '../shared/from-card.ts'
import { holdRefusals } from '../shared/hold-refusals.ts'
import { lazyTransport } from '../shared/lazy-transport.ts'
import { card } from './card.ts'
import { classCodes } from './classify.ts'
import { notes, warnings } from './notes.ts'
import { countedClass, mapPayload, type OppoPayload, quotaScope } from './payload.ts'
import { readCallback } from './receipt.ts'
import { type OppoSettings, readSettings } from './settings.ts'
import { checkToken, regionOf } from './token.ts'

export const adapter: ChannelAdapter<OppoSettings, OppoPayload> = {
  ...fromCard(card),
  readSettings,
  classOf: countedClass,
  mapPayload,
  checkToken,
  regionOf,
  warnings,
  notes,
  open: (settings, deps) =>
    holdRefusals(
      lazyTransport(async () => (await import('./transport.ts')).openTransport(settings, deps)),
      { quota: quotaScope, refused: refusedScope, of: scopesOf },
      deps,
    ),
  readCallback,
}

function refusedScope({ reason }: HeldOutcome, payload: OppoPayload): string | undefined {
  return classCodes.has(reason.code) ? scopesOf(payload)[0] : undefined
}

/** A category, level or template that the message names may be refused, while others of its class are accepted. */
function scopesOf({ classFrom, messageClass }: OppoPayload): readonly string[] {
  return classFrom === 'certificate' ? [`class ${messageClass}`] : []
}
