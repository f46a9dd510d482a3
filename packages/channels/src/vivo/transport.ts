import { eachConcurrently } from '@herald/async'
import { type Outcome, ownReasons } from '@herald/domain'
import type { CheckResult, Recipient, SendContext, Transport, TransportDeps } from '../channel.ts'
import { untilAborted } from '../shared/abort.ts'
import { CallRefused, failedCheck, outcomeOfError } from '../shared/outcome.ts'
import { nextShanghaiMidnight } from '../shared/shanghai-time.ts'
import { openCalls } from './calls.ts'
import {
  classifyList,
  classifySingle,
  listPayloadGone,
  listQuotaUsedUp,
  outcomeOfResult,
} from './classify.ts'
import type { VivoPayload } from './payload.ts'
import { listBody, listKey, pushBody, singleBody } from './requests.ts'
import type { VivoSettings } from './settings.ts'

/** Maximum number of concurrent calls when the devices of a list are sent to one by one. */
const singlesAtOnce = 16
/** Maximum number of stored payloads whose id is cached in this process; any other costs a query. */
const maxCachedIds = 200

const noTaskId = ownReasons.vendor_reply_unreadable('the reply has no taskId')

type Report = (token: string, outcome: Outcome) => void

/** vivo did not store a list payload. */
class SaveRefused extends CallRefused {
  readonly result: number
  constructor(result: number, outcome: Outcome) {
    super(outcome)
    this.result = result
  }
}

export function openTransport(settings: VivoSettings, deps: TransportDeps): Transport<VivoPayload> {
  const calls = openCalls(settings, deps)
  const cachedIds = new Map<string, string>()
  let singlesUntil = 0

  async function sendOne(payload: VivoPayload, token: string, signal: AbortSignal): Promise<Outcome> {
    try {
      const reply = await calls.call('/message/send', singleBody(payload, token), signal)
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
    report: Report,
  ): Promise<void> {
    let forAll: Outcome | undefined
    await eachConcurrently(tokens, singlesAtOnce, async (token) => {
      const outcome = forAll ?? (await sendOne(payload, token, signal))
      if (concernsAll(outcome)) forAll = outcome
      report(token, outcome)
    })
  }

  /** Returns the id of the stored payload, which all calls of the task in all processes share. */
  function storedId(payload: VivoPayload, key: string, signal: AbortSignal): Promise<string> {
    const save = async () => {
      // Other callers wait for the same payload, so an abort ends only the wait, not the call.
      const never = new AbortController().signal
      const reply = await calls.call('/message/saveListPayload', listBody(payload, key), never)
      if (reply.result !== 0) throw new SaveRefused(reply.result, outcomeOfResult(reply, deps.now()))
      if (!reply.taskId) throw new SaveRefused(0, { kind: 'unavailable', reason: noTaskId })
      return reply.taskId
    }
    return untilAborted(deps.taskMemory(payload.taskId, key, save), signal)
  }

  async function sendList(
    payload: VivoPayload,
    tokens: readonly string[],
    signal: AbortSignal,
  ): Promise<Outcome[]> {
    const push = (vivoTaskId: string) =>
      calls.call('/message/pushToList', pushBody(payload, vivoTaskId, tokens), signal)
    const key = listKey(payload)
    let vivoTaskId = cachedIds.get(key) ?? (await storedId(payload, key, signal))
    let reply = await push(vivoTaskId)
    if (listPayloadGone.has(reply.result)) {
      vivoTaskId = await storedId(payload, `${key}-after-${vivoTaskId}`, signal)
      reply = await push(vivoTaskId)
    }
    if (cachedIds.size >= maxCachedIds) cachedIds.clear()
    if (!listPayloadGone.has(reply.result)) cachedIds.set(key, vivoTaskId)
    return classifyList(reply, tokens, deps.now())
  }

  async function send(
    payload: VivoPayload,
    recipients: readonly Recipient[],
    { signal, report }: SendContext,
  ): Promise<void> {
    // vivo may refuse a list that contains a token twice.
    const byToken = Map.groupBy(recipients.keys(), (index) => recipients[index]!.token)
    const tokens = [...byToken.keys()]
    const reportToken: Report = (token, outcome) => {
      for (const index of byToken.get(token)!) report(index, outcome)
    }
    if (tokens.length < 2 || deps.now() < singlesUntil) return sendEach(payload, tokens, signal, reportToken)
    try {
      const outcomes = await sendList(payload, tokens, signal)
      tokens.forEach((token, i) => {
        reportToken(token, outcomes[i]!)
      })
    } catch (error) {
      if (error instanceof SaveRefused && error.result === listQuotaUsedUp) {
        singlesUntil = nextShanghaiMidnight(deps.now())
        return sendEach(payload, tokens, signal, reportToken)
      }
      const outcome = outcomeOfError(error)
      for (const token of tokens) reportToken(token, outcome)
    }
  }

  async function check(signal: AbortSignal): Promise<CheckResult> {
    try {
      await calls.authenticate(signal)
      return { ok: true }
    } catch (error) {
      return failedCheck('vivo', outcomeOfError(error))
    }
  }

  return { send, check, close: calls.close }
}

function concernsAll({ kind }: Outcome): boolean {
  return kind === 'misconfigured' || kind === 'quota' || kind === 'throttled'
}
