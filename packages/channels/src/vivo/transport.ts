import type { Outcome } from '@herald/domain'
import type { CheckResult, Recipient, SendContext, Transport, TransportDeps } from '../channel.ts'
import { nextShanghaiMidnight } from '../shared/day.ts'
import { CallRefused, outcomeOfThrown, untilAborted } from '../shared/pass.ts'
import { openCalls } from './calls.ts'
import {
  classifyList,
  classifySingle,
  listPayloadGone,
  listPayloadsSpent,
  outcomeOfResult,
} from './classify.ts'
import type { VivoPayload } from './payload.ts'
import { listBody, listKey, pushBody, singleBody } from './requests.ts'
import type { VivoSettings } from './settings.ts'

/** Calls under way at once when a list has to go out one by one. */
const singlesAtOnce = 16
/** Stored payloads whose id is kept in this process; a forgotten one costs a query. */
const mostKnown = 200

type Tell = (token: string, outcome: Outcome) => void

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
  const known = new Map<string, string>()
  let singlesUntil = 0

  async function sendOne(payload: VivoPayload, token: string, signal: AbortSignal): Promise<Outcome> {
    try {
      const reply = await calls.ask('/message/send', singleBody(payload, token), signal)
      return classifySingle(reply, deps.now())
    } catch (error) {
      return outcomeOfThrown(error)
    }
  }

  /** Several at a time; an answer about the whole application ends the round and stands for who was not asked. */
  async function sendEach(
    payload: VivoPayload,
    tokens: readonly string[],
    signal: AbortSignal,
    tell: Tell,
  ): Promise<void> {
    let next = 0
    let verdict: Outcome | undefined
    const run = async () => {
      while (next < tokens.length) {
        const token = tokens[next++]!
        const outcome = verdict ?? (await sendOne(payload, token, signal))
        if (concernsAll(outcome)) verdict = outcome
        tell(token, outcome)
      }
    }
    const runs = Array.from({ length: Math.min(singlesAtOnce, tokens.length) }, run)
    const failed = (await Promise.allSettled(runs)).find((one) => one.status === 'rejected')
    if (failed) throw failed.reason
  }

  /** The id of the stored payload, shared by all chunks of the task in all processes. */
  function stored(payload: VivoPayload, key: string, signal: AbortSignal): Promise<string> {
    const save = async () => {
      // Others may wait for this payload too, so it is not stopped with one of them: only waiting for it is.
      const unstopped = new AbortController().signal
      const reply = await calls.ask('/message/saveListPayload', listBody(payload, key), unstopped)
      if (reply.result !== 0) throw new SaveRefused(reply.result, outcomeOfResult(reply, deps.now()))
      if (!reply.taskId) throw new SaveRefused(0, { kind: 'unavailable', reason: 'no taskId for the list' })
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
      calls.ask('/message/pushToList', pushBody(payload, vivoTaskId, tokens), signal)
    const key = listKey(payload)
    let vivoTaskId = known.get(key) ?? (await stored(payload, key, signal))
    let reply = await push(vivoTaskId)
    if (listPayloadGone.has(reply.result)) {
      vivoTaskId = await stored(payload, `${key}-after-${vivoTaskId}`, signal)
      reply = await push(vivoTaskId)
    }
    if (known.size >= mostKnown) known.clear()
    if (!listPayloadGone.has(reply.result)) known.set(key, vivoTaskId)
    return classifyList(reply, tokens, deps.now())
  }

  async function send(
    payload: VivoPayload,
    recipients: readonly Recipient[],
    { signal, report }: SendContext,
  ): Promise<void> {
    // A list with the same token twice would count one target too many, and one of them may be refused for it.
    const places = Map.groupBy(recipients.keys(), (index) => recipients[index]!.token)
    const tokens = [...places.keys()]
    const tell: Tell = (token, outcome) => {
      for (const index of places.get(token)!) report(index, outcome)
    }
    if (tokens.length < 2 || deps.now() < singlesUntil) return sendEach(payload, tokens, signal, tell)
    try {
      const outcomes = await sendList(payload, tokens, signal)
      tokens.forEach((token, i) => {
        tell(token, outcomes[i]!)
      })
    } catch (error) {
      if (error instanceof SaveRefused && error.result === listPayloadsSpent) {
        singlesUntil = nextShanghaiMidnight(deps.now())
        return sendEach(payload, tokens, signal, tell)
      }
      const outcome = outcomeOfThrown(error)
      for (const token of tokens) tell(token, outcome)
    }
  }

  async function check(signal: AbortSignal): Promise<CheckResult> {
    try {
      await calls.authenticate(signal)
      return { ok: true }
    } catch (error) {
      const outcome = outcomeOfThrown(error)
      const problem = 'reason' in outcome ? outcome.reason : outcome.kind
      return { ok: false, problem: `vivo: ${problem}`, temporary: outcome.kind !== 'misconfigured' }
    }
  }

  return { send, check, close: calls.close }
}

function concernsAll({ kind }: Outcome): boolean {
  return kind === 'misconfigured' || kind === 'quota' || kind === 'throttled'
}
