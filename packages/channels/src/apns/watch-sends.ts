import type { Recipient, SendContext, Transport } from '../channel.ts'

/** Returns the context of one send; indexes are those of `recipients`. */
export type Watch<Payload> = (
  context: SendContext,
  payloadOf: (at: number) => Payload,
  recipients: readonly Recipient[],
) => SendContext

/** Puts `watch` between a transport and the reports of its sends. `check` is not watched: it tells at once what the vendor says. */
export function watchSends<Payload>(
  transport: Transport<Payload>,
  watch: Watch<Payload>,
): Transport<Payload> {
  return {
    ...transport,
    send: (payload, recipients, context) =>
      transport.send(
        payload,
        recipients,
        watch(context, () => payload, recipients),
      ),
    ...(transport.sendEach && {
      sendEach: (payloads: readonly Payload[], recipients: readonly Recipient[], context: SendContext) =>
        transport.sendEach!(
          payloads,
          recipients,
          watch(context, (at) => payloads[at]!, recipients),
        ),
    }),
  }
}
