import { cardOf, type Message, type Outcome } from '@herald/domain'
import type { Simulator } from '@herald/simulators'
import { type Receiver, startReceiver } from '@herald/testkit/receiver'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  type Certificate,
  type ChannelAdapter,
  isUnsupported,
  type Recipient,
  type Transport,
  type UrlName,
} from '../src/channel.ts'
import { sampleDeps, sampleTask, sampleUrls } from './samples.ts'

export type ContractHarness<Settings, Payload> = {
  adapter: ChannelAdapter<Settings, Payload>
  /** Starts the vendor's simulator; it knows the certificate that is returned, `bad` has a wrong secret. */
  start(): Promise<ContractBench>
  /** A well-formed vendor token, a different one for each number. */
  token(index: number): string
  /** The vendor uses access tokens that expire (OAuth, signed token). */
  expiringAuth: boolean
  /** What every recipient has besides its token. */
  recipient?: Partial<Recipient>
  /** The vendor refuses wrong credentials with a word that good ones get in passing too: the channel is never closed for it. */
  refusalMayPass?: boolean
  /** Message fields with more than the vendor's limit of `x` in `ext`. */
  oversize: Partial<Message>
  /** Message fields that every send needs, e.g. a class. */
  message?: Partial<Message>
}

export type ContractBench = {
  simulator: Simulator
  certificate: Certificate
  bad: Certificate
  urls: Partial<Record<UrlName, string>>
  ca?: string
  kill(tokens: string[]): void
  /** Enters the receipt URL in the vendor's console, for vendors that do not take it from the request. */
  registerReceipts?(url: string): void
}

/** A time limit that is longer than the test's, so that a transport that waits for it fails the test. */
const beyondTheTest = 600_000

type Sent = { outcomes: (Outcome | undefined)[]; reports: number[]; error: unknown }

/**
 * What every adapter must do. Each adapter's contract.spec.ts is a harness and one call of this.
 */
export function describeContract<Settings, Payload>(
  name: string,
  harness: ContractHarness<Settings, Payload>,
): void {
  const { adapter } = harness
  const several = Math.min(adapter.tokensPerCall, 5)

  describe(`${name} keeps the channel contract`, () => {
    let bench: ContractBench
    let opened: Transport<Payload>[]
    let heard: string[]
    let receiver: Receiver | undefined

    beforeEach(async () => {
      bench = await harness.start()
      opened = []
      heard = []
    })

    afterEach(async () => {
      await Promise.all(opened.map((transport) => transport.close()))
      await bench.simulator.close()
      await receiver?.close()
      receiver = undefined
      const secrets = [bench.certificate, bench.bad]
        .flatMap((certificate) => [certificate.appSecret, certificate.certificate])
        .filter((secret) => secret.length > 3)
      for (const text of heard) {
        for (const secret of secrets) expect(text).not.toContain(secret)
        for (let i = 0; i < several; i++) expect(text).not.toContain(harness.token(i))
      }
    })

    const open = (
      over: { certificate?: Certificate; timeoutMs?: number; urls?: Partial<Record<UrlName, string>> } = {},
    ) => {
      const settings = adapter.readSettings(over.certificate ?? bench.certificate)
      const deps = sampleDeps({
        urls: sampleUrls(over.urls ?? bench.urls),
        ca: bench.ca,
        timeoutMs: over.timeoutMs ?? 60_000,
      })
      const transport = adapter.open(settings, deps)
      opened.push(transport)
      return { settings, deps, transport }
    }

    const map = (settings: Settings, taskId = 7001, message: Partial<Message> = {}, callbackUrl?: string) => {
      const now = Math.floor(Date.now() / 1000)
      const task = sampleTask({ ...harness.message, ...message }, { taskId, callbackUrl, now })
      return adapter.mapPayload(task, settings)
    }

    const payloadOf = (settings: Settings, taskId?: number, callbackUrl?: string): Payload => {
      const payload = map(settings, taskId, {}, callbackUrl)
      if (isUnsupported(payload)) throw new Error(payload.unsupported)
      return payload
    }

    const recipientsOf = (count: number): Recipient[] =>
      Array.from({ length: count }, (_, i) => ({
        deviceId: i + 1,
        token: harness.token(i),
        badge: 1,
        ...harness.recipient,
      }))

    const send = async (
      transport: Transport<Payload>,
      payload: Payload,
      recipients: Recipient[],
      signal = new AbortController().signal,
    ): Promise<Sent> => {
      const sent: Sent = {
        outcomes: recipients.map(() => undefined),
        reports: recipients.map(() => 0),
        error: undefined,
      }
      try {
        await transport.send(payload, recipients, {
          signal,
          report(index, outcome) {
            sent.outcomes[index] = outcome
            sent.reports[index]!++
            if ('reason' in outcome) heard.push(outcome.reason.code, outcome.reason.text)
          },
        })
      } catch (error) {
        sent.error = error
        heard.push(error instanceof Error ? `${error.message} ${error.stack}` : String(error))
      }
      return sent
    }

    const kinds = (sent: Sent) => sent.outcomes.map((outcome) => outcome?.kind)
    /** As the runner reads it: a recipient that a throwing transport left unreported is unavailable. */
    const folded = (sent: Sent) =>
      sent.outcomes.map((outcome) => outcome?.kind ?? (sent.error ? 'unavailable' : undefined))
    const all = (count: number, kind: string) => Array.from({ length: count }, () => kind)

    it('reports every recipient once as accepted, and the vendor got each with the task id', async () => {
      const { settings, transport } = open()
      const sent = await send(transport, payloadOf(settings), recipientsOf(several))
      expect(sent.error).toBeUndefined()
      expect(kinds(sent)).toEqual(all(several, 'accepted'))
      expect(sent.reports).toEqual(all(several, '').map(() => 1))
      expect(bench.simulator.ledger(7001)).toEqual({ accepted: several, distinct: several, duplicates: 0 })
    })

    it('accepts tokensPerCall recipients in one call', async () => {
      const { settings, transport } = open()
      const count = adapter.tokensPerCall
      const sent = await send(transport, payloadOf(settings), recipientsOf(count))
      expect(sent.error).toBeUndefined()
      expect(new Set(kinds(sent))).toEqual(new Set(['accepted']))
      expect(bench.simulator.ledger(7001)).toEqual({ accepted: count, distinct: count, duplicates: 0 })
    })

    it('distinguishes dead and valid tokens in one call', async () => {
      const { settings, transport } = open()
      bench.kill([harness.token(1)])
      const count = Math.max(2, several)
      const sent: Sent =
        adapter.tokensPerCall >= count
          ? await send(transport, payloadOf(settings), recipientsOf(count))
          : await sendOneByOne(transport, payloadOf(settings), recipientsOf(count))
      const expected = all(count, 'accepted')
      expected[1] = 'gone'
      expect(kinds(sent)).toEqual(expected)
      expect(sent.reports.every((times) => times === 1)).toBe(true)
      expect(bench.simulator.ledger(7001).distinct).toBe(count - 1)
    })

    const sendOneByOne = async (
      transport: Transport<Payload>,
      payload: Payload,
      recipients: Recipient[],
    ): Promise<Sent> => {
      const parts: Sent[] = []
      for (const recipient of recipients) parts.push(await send(transport, payload, [recipient]))
      return {
        outcomes: parts.flatMap((part) => part.outcomes),
        reports: parts.flatMap((part) => part.reports),
        error: parts.find((part) => part.error)?.error,
      }
    }

    it('reports gone when every token of the call is dead', async () => {
      const { settings, transport } = open()
      const recipients = recipientsOf(several)
      bench.kill(recipients.map((recipient) => recipient.token))
      const sent = await send(transport, payloadOf(settings), recipients)
      expect(kinds(sent)).toEqual(all(several, 'gone'))
      expect(sent.reports.every((times) => times === 1)).toBe(true)
      expect(bench.simulator.ledger(7001).accepted).toBe(0)
    })

    it('reports gone for a call with one dead token', async () => {
      const { settings, transport } = open()
      bench.kill([harness.token(0)])
      expect(kinds(await send(transport, payloadOf(settings), recipientsOf(1)))).toEqual(['gone'])
    })

    const { readCallback } = adapter
    if (readCallback) {
      it('reads the receipts of all recipients', async () => {
        receiver = await startReceiver()
        bench.registerReceipts?.(receiver.url)
        const { settings, transport } = open()
        const recipients = recipientsOf(several)
        await send(transport, payloadOf(settings, 7001, receiver.url), recipients)
        await receiver.until((posts) => posts.length > 0)
        const { headers, body } = receiver.posts[0]!
        expect(readCallback({ headers, query: {}, body, now: Date.now() }, settings)).toMatchObject({
          ok: true,
          receipts: recipients.map(({ token }) => ({ taskId: 7001, token, event: 'received' })),
        })
      })
    }

    it('reports throttled when the vendor limits the rate', async () => {
      const { settings, transport } = open()
      await send(transport, payloadOf(settings, 7000), recipientsOf(1))
      bench.simulator.setFaults({ throttle: 1 })
      const sent = await send(transport, payloadOf(settings), recipientsOf(several))
      expect(kinds(sent)).toEqual(all(several, 'throttled'))
      expect(bench.simulator.ledger(7001).accepted).toBe(0)
    })

    it('reports unavailable for 5xx', async () => {
      const { settings, transport } = open()
      bench.simulator.setFaults({ unavailable: 1 })
      const sent = await send(transport, payloadOf(settings), recipientsOf(several))
      expect(folded(sent)).toEqual(all(several, 'unavailable'))
    })

    it('takes the HTML 403 of a gateway for an outage, in check too', async () => {
      const { settings, transport } = open()
      bench.simulator.setFaults({ htmlForbidden: 1 })
      const sent = await send(transport, payloadOf(settings), recipientsOf(several))
      expect(folded(sent)).toEqual(all(several, 'unavailable'))
      expect(await transport.check(new AbortController().signal)).toMatchObject({
        ok: false,
        temporary: true,
      })
      bench.simulator.setFaults({})
      const again = await send(transport, payloadOf(settings), recipientsOf(several))
      expect(kinds(again)).toEqual(all(several, 'accepted'))
    })

    it('ends at the time limit when the vendor never replies', async () => {
      const { settings, transport } = open({ timeoutMs: 300 })
      bench.simulator.setFaults({ hang: 1 })
      const sent = await send(transport, payloadOf(settings), recipientsOf(several))
      expect(folded(sent)).toEqual(all(several, 'unavailable'))
    })

    it('reports unavailable when the reply is lost, never accepted or gone', async () => {
      const { settings, transport } = open()
      await send(transport, payloadOf(settings, 7000), recipientsOf(1))
      bench.simulator.setFaults({ cut: 1 })
      const sent = await send(transport, payloadOf(settings), recipientsOf(several))
      expect(folded(sent)).toEqual(all(several, 'unavailable'))
      bench.simulator.setFaults({})
      const again = await send(transport, payloadOf(settings), recipientsOf(several))
      expect(kinds(again)).toEqual(all(several, 'accepted'))
      expect(bench.simulator.ledger(7001).distinct).toBe(several)
    })

    it('reports unavailable when the vendor cannot be reached', async () => {
      const { settings, transport } = open({ urls: {} })
      const sent = await send(transport, payloadOf(settings), recipientsOf(several))
      expect(folded(sent)).toEqual(all(several, 'unavailable'))
      expect(await transport.check(new AbortController().signal)).toMatchObject({
        ok: false,
        temporary: true,
      })
    })

    if (harness.expiringAuth) {
      it('renews an expired access token once and sends again, also in parallel calls', async () => {
        const { settings, deps, transport } = open()
        await send(transport, payloadOf(settings, 7000), recipientsOf(1))
        expect(deps.mints()).toBe(1)
        bench.simulator.setFaults({ expireAuth: true })
        const sent = await Promise.all(
          [7001, 7002, 7003].map((taskId) =>
            send(transport, payloadOf(settings, taskId), recipientsOf(several)),
          ),
        )
        for (const one of sent) expect(kinds(one)).toEqual(all(several, 'accepted'))
        expect(deps.mints()).toBe(2)
        for (const taskId of [7001, 7002, 7003])
          expect(bench.simulator.ledger(taskId)).toEqual({
            accepted: several,
            distinct: several,
            duplicates: 0,
          })
      })
    }

    const refusal = harness.refusalMayPass ? 'unavailable' : 'misconfigured'
    it(`reports ${refusal} for refused credentials`, async () => {
      const { settings, deps, transport } = open()
      bench.simulator.setFaults({ refuseAuth: true })
      const sent = await send(transport, payloadOf(settings), recipientsOf(several))
      expect(kinds(sent)).toEqual(all(several, refusal))
      expect(deps.mints()).toBeLessThanOrEqual(2)
      expect(bench.simulator.ledger().accepted).toBe(0)
    })

    it(`reports ${refusal} for a wrong secret, in check too`, async () => {
      const { settings, transport } = open({ certificate: bench.bad })
      const sent = await send(transport, payloadOf(settings), recipientsOf(several))
      expect(kinds(sent)).toEqual(all(several, refusal))
      const checked = await transport.check(new AbortController().signal)
      expect(checked).toMatchObject({ ok: false, temporary: harness.refusalMayPass ?? false })
      if (!checked.ok) heard.push(checked.problem)
    })

    it('checks valid credentials without sending a message', async () => {
      const { transport } = open()
      expect(await transport.check(new AbortController().signal)).toEqual({ ok: true })
      expect(bench.simulator.ledger().accepted).toBe(0)
    })

    it('sends a notification without ext that does not fit', async () => {
      const { settings, transport } = open()
      const payload = map(settings, 7001, harness.oversize)
      if (isUnsupported(payload)) throw new Error(payload.unsupported)
      expect(JSON.stringify(payload)).not.toContain('xxx')
      expect(kinds(await send(transport, payload, recipientsOf(1)))).toEqual(['accepted'])
    })

    it('reports an oversized command before sending it', async () => {
      const { settings, transport } = open()
      const payload = map(settings, 7001, { ...harness.oversize, type: 'cmd' })
      if (isUnsupported(payload)) {
        expect(payload.unsupported.length).toBeGreaterThan(10)
        return
      }
      const sent = await send(transport, payload, recipientsOf(1))
      expect(['unsupported', 'rejected']).toContain(kinds(sent)[0])
    })

    it('takes away what it sent, if its card says so', async () => {
      expect(adapter.withdrawal !== undefined).toBe(cardOf(adapter.name).recall === 'withdraw')
      const { settings, transport } = open()
      const withdrawal = adapter.withdrawal?.(sampleTask(harness.message, { taskId: 7001 }), settings)
      if (withdrawal === undefined || isUnsupported(withdrawal)) return
      const recipients = recipientsOf(several)
      await send(transport, payloadOf(settings, 7001), recipients)
      const sent = await send(transport, withdrawal, recipients)
      expect(sent.error).toBeUndefined()
      expect(sent.reports).toEqual(recipients.map(() => 1))
      // A vendor may be able to do so for devices of one system only.
      const outcome = kinds(sent)[0]!
      expect(['accepted', 'unsupported']).toContain(outcome)
      expect(new Set(kinds(sent))).toEqual(new Set([outcome]))
      bench.simulator.setFaults({ refuseAuth: true })
      for (const kind of kinds(await send(open().transport, withdrawal, recipients)))
        expect(['gone', 'misconfigured']).not.toContain(kind)
    })

    it('stops promptly on abort and leaves the rest unreported', async () => {
      const { settings, transport } = open({ timeoutMs: beyondTheTest })
      await send(transport, payloadOf(settings, 7000), recipientsOf(1))
      bench.simulator.setFaults({ hang: 1 })
      const stop = new AbortController()
      const sending = send(transport, payloadOf(settings), recipientsOf(several), stop.signal)
      setTimeout(() => stop.abort(), 50)
      const sent = await sending
      expect(sent.error).toBeDefined()
      expect(kinds(sent)).toEqual(all(several, '').map(() => undefined))
    })

    it('closes without hanging while a call is in flight', async () => {
      const { settings, transport } = open({ timeoutMs: beyondTheTest })
      await send(transport, payloadOf(settings, 7000), recipientsOf(1))
      bench.simulator.setFaults({ hang: 1 })
      const sending = send(transport, payloadOf(settings), recipientsOf(several))
      await new Promise((resolve) => setTimeout(resolve, 50))
      await transport.close()
      expect(folded(await sending)).toEqual(all(several, 'unavailable'))
    })

    it('accepts its sample tokens as well-formed and refuses an empty one', () => {
      for (let i = 0; i < several; i++) expect(adapter.checkToken(harness.token(i))).toBeUndefined()
      expect(adapter.checkToken('')).toBeDefined()
    })

    it('has its sample tokens in their canonical form', () => {
      for (let i = 0; i < several; i++) {
        const token = harness.token(i)
        expect(adapter.canonicalToken?.(token) ?? token).toBe(token)
      }
    })
  })
}
