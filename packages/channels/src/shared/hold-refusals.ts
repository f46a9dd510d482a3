import type { HeldOutcome, Recipient, SendContext, Transport, TransportDeps } from '../channel.ts'

/** For refusals without an end. A permission that the operator obtains from the vendor is noticed after this time. */
export const refusalHoldMs = 600_000

const pick = <T>(all: readonly T[], indexes: readonly number[] | undefined): readonly T[] =>
  indexes ? indexes.map((index) => all[index]!) : all

/** What a refusal concerns: `quota` holds all messages with the same scope until the quota's end, `rejected` for ten minutes. */
type Scopes<Payload> = {
  /** The class under which the vendor counts the message. With a refusal: the class whose quota is used up by the vendor's words. */
  quota(payload: Payload, refusal?: HeldOutcome): string
  /**
   * The scope that an outcome refuses (`class service`, `topic com.example.app`, `channel 123`), if it is not about this one device or
   * message. Returns undefined for all other outcomes.
   */
  refused?(outcome: HeldOutcome, payload: Payload, recipient: Recipient): string | undefined
  /** All scopes that this message to this recipient belongs to, as `refused` would name them. */
  of?(payload: Payload, recipient: Recipient): readonly string[]
}

/**
 * Remembers refusals that concern more than one device but not the whole certificate: further messages of the same scope get the
 * same outcome without a call, in all processes. Otherwise every batch of a broadcast would be refused again, for which some
 * vendors lower the quota.
 */
export function holdRefusals<Payload>(
  transport: Transport<Payload>,
  scopes: Scopes<Payload>,
  { holds, now }: Pick<TransportDeps, 'holds' | 'now'>,
): Transport<Payload> {
  return {
    ...transport,
    async send(payload, recipients, context) {
      // Usually nothing is held, and the recipients need not be looked at one by one.
      const open = holds.isEmpty() ? undefined : reportHeld(() => payload, recipients, context)
      if (open?.length === 0) return
      const called = pick(recipients, open)
      await transport.send(
        payload,
        called,
        watch(() => payload, called, context, open),
      )
    },
    ...(transport.sendEach && {
      async sendEach(payloads: readonly Payload[], recipients: readonly Recipient[], context: SendContext) {
        const open = holds.isEmpty() ? undefined : reportHeld((at) => payloads[at]!, recipients, context)
        if (open?.length === 0) return
        const called = pick(recipients, open)
        const sent = pick(payloads, open)
        await transport.sendEach!(
          sent,
          called,
          watch((at) => sent[at]!, called, context, open),
        )
      },
    }),
  }

  /** Stores refusals that are reported; `open` are the indexes for `context` of those called, if not all are. */
  function watch(
    payloadOf: (at: number) => Payload,
    called: readonly Recipient[],
    context: SendContext,
    open: readonly number[] | undefined,
  ): SendContext {
    // A refusal is reported for every device of the call but stored once.
    const added = new Set<string>()
    const hold = (scope: string | undefined, outcome: HeldOutcome, until: number) => {
      if (scope === undefined || added.has(scope)) return
      added.add(scope)
      holds.add(scope, outcome, until)
    }
    return {
      signal: context.signal,
      report(at, outcome) {
        if (outcome.kind === 'quota')
          hold(`quota ${scopes.quota(payloadOf(at), outcome)}`, outcome, outcome.until)
        else if (outcome.kind === 'rejected')
          hold(scopes.refused?.(outcome, payloadOf(at), called[at]!), outcome, now() + refusalHoldMs)
        context.report(open ? open[at]! : at, outcome)
      },
    }
  }

  /** Returns the indexes of recipients that are not held. */
  function reportHeld(
    payloadOf: (index: number) => Payload,
    recipients: readonly Recipient[],
    context: SendContext,
  ): number[] {
    const open: number[] = []
    recipients.forEach((recipient, index) => {
      const payload = payloadOf(index)
      const held =
        holds.find(`quota ${scopes.quota(payload)}`) ?? firstHeld(scopes.of?.(payload, recipient) ?? [])
      if (held) context.report(index, held)
      else open.push(index)
    })
    return open
  }

  function firstHeld(names: readonly string[]): HeldOutcome | undefined {
    for (const name of names) {
      const held = holds.find(name)
      if (held) return held
    }
    return undefined
  }
}
