import type { Outcome } from '@herald/domain'
import { isUnsupported, type SendContext, type Transport } from '../channel.ts'
import { refusesPicture } from './classify.ts'
import type { FcmPayload } from './payload.ts'

type FcmTransport = Transport<FcmPayload> & Required<Pick<Transport<FcmPayload>, 'sendEach'>>

/** Sends once more, without the picture, to the devices for which Google refused its address: it delivered nothing to them. */
export function resendingWithoutPicture(transport: FcmTransport): FcmTransport {
  return {
    ...transport,
    async send(payload, recipients, context) {
      const refused = collect(() => payload, context)
      await transport.send(payload, recipients, refused.context)
      if (refused.indexes.length === 0) return
      const some = refused.indexes.map((index) => recipients[index]!)
      await transport.send(refused.payloads[0]!, some, refused.again)
    },
    async sendEach(payloads, recipients, context) {
      const refused = collect((index) => payloads[index]!, context)
      await transport.sendEach(payloads, recipients, refused.context)
      if (refused.indexes.length === 0) return
      const some = refused.indexes.map((index) => recipients[index]!)
      await transport.sendEach(refused.payloads, some, refused.again)
    },
  }
}

/** `context` reports all recipients but those in `indexes`, which `payloads` are for; `again` reports these. */
function collect(payloadOf: (index: number) => FcmPayload, { signal, report }: SendContext) {
  const indexes: number[] = []
  const payloads: FcmPayload[] = []
  const reportOrCollect = (index: number, outcome: Outcome) => {
    const reduced = refusesPicture(outcome) ? payloadOf(index).withoutPicture?.() : undefined
    if (!reduced || isUnsupported(reduced)) return report(index, outcome)
    indexes.push(index)
    payloads.push(reduced)
  }
  const again = (at: number, outcome: Outcome) => report(indexes[at]!, outcome)
  return {
    indexes,
    payloads,
    context: { signal, report: reportOrCollect },
    again: { signal, report: again },
  }
}
