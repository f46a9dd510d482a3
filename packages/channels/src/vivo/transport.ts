import { eachConcurrently } from '@herald/async'
import { type Outcome, ownReasons } from '@herald/domain'
import type { CheckResult, Recipient, SendContext, Transport, TransportDeps } from '../channel.ts'
import { untilAborted } from '../shared/abort.ts'
import { distinctTokens, type ReportToken } from '../shared/distinct-tokens.ts'
import { refusalHoldMs } from '../shared/hold-refusals.ts'
import { CallRefused, concernsAll, failedCheck, outcomeOfError } from '../shared/outcome.ts'
import { sendHalves, wasTooLarge } from '../shared/too-large.ts'
import { openCalls } from './calls.ts'
import {
  classifyList,
  classifySingle,
  listPayloadGone,
  listQuotaUsedUp,
  outcomeOfResult,
  receiptsRefused,
  resultCodes,
  type VivoReply,
} from './classify.ts'
import { isRefusedForAll, type OptionalPart, type VivoPayload, without } from './payload.ts'
import { listBody, listKey, pushBody, singleBody } from './requests.ts'
import type { VivoSettings } from './settings.ts'

/** Maximum number of concurrent calls when the devices of a list are sent to one by one. */
const singlesAtOnce = 16
/**
 * Up to this number of devices are sent to one by one: a list costs two calls and one of the list payloads that vivo allows per day,
 * whose number it does not publish.
 */
const maxSingles = 4
/** The scope under which a used-up quota of list payloads is held. */
const listPayloads = 'without list payloads'
/** Maximum number of stored payloads whose id is cached in this process; any other costs a query. */
const maxCachedIds = 200

const noTaskId = ownReasons.vendor_reply_unreadable('the reply has no taskId')

/** vivo did not store a list payload. */
class SaveRefused extends CallRefused {
  readonly result: number
  constructor(result: number, outcome: Outcome) {
    super(outcome)
    this.result = result
  }
}

/** The request with all regIds of a list is too large. */
class ListTooLarge extends CallRefused {}

export function openTransport(settings: VivoSettings, deps: TransportDeps): Transport<VivoPayload> {
  const calls = openCalls(settings, deps)
  const cachedIds = new Map<string, string>()

  function withoutHeld(payload: VivoPayload): VivoPayload {
    let rest = payload
    for (const part of optionalParts) if (deps.holds.find(`without ${part}`)) rest = without(part, rest)
    return rest
  }

  /** A refused part does not cost the message: it is left out, in this call and in those of the next minutes. */
  async function callWithoutRefused(
    payload: VivoPayload,
    call: (payload: VivoPayload) => Promise<VivoReply>,
  ): Promise<VivoReply> {
    const reply = await call(payload)
    const part = refusedPart(reply, payload)
    if (!part) return reply
    const again = await call(without(part, payload))
    const refusal = outcomeOfResult(reply, deps.now())
    if (again.result === 0 && 'reason' in refusal)
      deps.holds.add(
        `without ${part}`,
        { kind: 'rejected', reason: refusal.reason },
        deps.now() + refusalHoldMs,
      )
    return again
  }

  async function sendOne(payload: VivoPayload, token: string, signal: AbortSignal): Promise<Outcome> {
    try {
      const reply = await callWithoutRefused(payload, (reduced) =>
        calls.call('/message/send', singleBody(reduced, token), signal),
      )
      return classifySingle(reply, deps.now())
    } catch (error) {
      return outcomeOfError(error)
    }
  }

  /** After an outcome that concerns the whole application, the remaining devices get it without a call. */
  async function sendEach(
    payload: VivoPayload,
    tokens: readonly string[],
    signal: AbortSignal,
    report: ReportToken,
  ): Promise<void> {
    let forAll: Outcome | undefined
    await eachConcurrently(tokens, singlesAtOnce, async (token) => {
      const outcome = forAll ?? (await sendOne(payload, token, signal))
      if (concernsAll(outcome) || (outcome.kind === 'rejected' && isRefusedForAll(outcome))) forAll = outcome
      report(token, outcome)
    })
  }

  /** Returns the id of the stored payload, which all calls of the task in all processes share. */
  function storedId(payload: VivoPayload, key: string, signal: AbortSignal): Promise<string> {
    const save = async () => {
      // Other callers wait for the same payload, so an abort ends only the wait, not the call.
      const never = new AbortController().signal
      const reply = await callWithoutRefused(payload, (reduced) =>
        calls.call('/message/saveListPayload', listBody(reduced, key), never),
      )
      if (reply.result !== 0) throw new SaveRefused(reply.result, outcomeOfResult(reply, deps.now()))
      if (!reply.taskId) throw new SaveRefused(0, { kind: 'unavailable', reason: noTaskId })
      return reply.taskId
    }
    return untilAborted(deps.taskMemory(payload.taskId, key, save), signal)
  }

  async function pushList(
    payload: VivoPayload,
    tokens: readonly string[],
    signal: AbortSignal,
  ): Promise<Outcome[]> {
    const push = async (vivoTaskId: string) => {
      try {
        return await calls.call('/message/pushToList', pushBody(payload, vivoTaskId, tokens), signal)
      } catch (error) {
        throw error instanceof CallRefused && wasTooLarge(error.outcome)
          ? new ListTooLarge(error.outcome)
          : error
      }
    }
    const key = listKey(payload)
    const remember = (vivoTaskId: string) => {
      if (cachedIds.size >= maxCachedIds) cachedIds.clear()
      cachedIds.set(key, vivoTaskId)
    }
    let vivoTaskId = cachedIds.get(key) ?? (await storedId(payload, key, signal))
    remember(vivoTaskId)
    let reply = await push(vivoTaskId)
    if (listPayloadGone.has(reply.result)) {
      cachedIds.delete(key)
      vivoTaskId = await storedId(payload, `${key}-after-${vivoTaskId}`, signal)
      reply = await push(vivoTaskId)
      if (!listPayloadGone.has(reply.result)) remember(vivoTaskId)
    }
    return classifyList(reply, tokens, deps.now())
  }

  /** Returns the outcome of a list that is too large and cannot be halved. */
  async function sendList(
    payload: VivoPayload,
    tokens: readonly string[],
    signal: AbortSignal,
    report: ReportToken,
  ): Promise<Outcome | undefined> {
    try {
      const outcomes = await pushList(payload, tokens, signal)
      tokens.forEach((token, i) => {
        report(token, outcomes[i]!)
      })
      return undefined
    } catch (error) {
      // vivo refuses lists of one.
      if (error instanceof ListTooLarge && tokens.length >= 4)
        return sendHalves(tokens, (half) => sendList(payload, half, signal, report), report)
      const outcome = outcomeOfError(error)
      if (error instanceof SaveRefused && error.result === listQuotaUsedUp && outcome.kind === 'quota') {
        deps.holds.add(listPayloads, outcome, outcome.until)
        await sendEach(payload, tokens, signal, report)
        return undefined
      }
      for (const token of tokens) report(token, outcome)
      return wasTooLarge(outcome) ? outcome : undefined
    }
  }

  async function send(
    given: VivoPayload,
    recipients: readonly Recipient[],
    { signal, report }: SendContext,
  ): Promise<void> {
    // vivo may refuse a list that contains a token twice.
    const { tokens, reportToken } = distinctTokens(recipients, report)
    const payload = withoutHeld(given)
    const isStored = cachedIds.has(listKey(payload))
    const one = tokens.length < 2 || (tokens.length <= maxSingles && !isStored)
    if (one || deps.holds.find(listPayloads)) await sendEach(payload, tokens, signal, reportToken)
    else await sendList(payload, tokens, signal, reportToken)
  }

  async function check(signal: AbortSignal): Promise<CheckResult> {
    try {
      await calls.probe(signal)
      return { ok: true }
    } catch (error) {
      return failedCheck('vivo', outcomeOfError(error))
    }
  }

  return { send, check, close: calls.close }
}

const optionalParts: readonly OptionalPart[] = ['receipts', 'badge']

/** vivo documents no code for a badge without permission, so a code that no table contains may mean it. */
function refusedPart({ result }: VivoReply, payload: VivoPayload): OptionalPart | undefined {
  if (receiptsRefused.has(result)) return payload.receipts.kind === 'none' ? undefined : 'receipts'
  const isUnknown = result !== 0 && !Object.hasOwn(resultCodes, result)
  return isUnknown && payload.notice.addBadge ? 'badge' : undefined
}
