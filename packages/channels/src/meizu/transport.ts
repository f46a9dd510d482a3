import { within } from '@herald/async'
import type { Outcome, Reason } from '@herald/domain'
import type { CheckResult, Recipient, SendContext, Transport, TransportDeps } from '../channel.ts'
import { untilAborted } from '../shared/abort.ts'
import { distinctTokens, type ReportToken } from '../shared/distinct-tokens.ts'
import { refusalHoldMs } from '../shared/hold-refusals.ts'
import { joinUrl } from '../shared/http.ts'
import { openHttpClient } from '../shared/http-client.ts'
import { failedCheck, outcomeOfError } from '../shared/outcome.ts'
import { shanghaiDate } from '../shared/shanghai-time.ts'
import { sendHalves, wasTooLarge } from '../shared/too-large.ts'
import {
  classify,
  isRefusedForTarget,
  isReply,
  type MeizuReply,
  mayPass,
  mayRefuseField,
  outcomeOfCall,
  readReply,
} from './classify.ts'
import { type MeizuPayload, messageJson, type OptionalPart, optionalParts } from './payload.ts'
import type { MeizuSettings } from './settings.ts'
import { signOf } from './sign.ts'

const root = '/garcia/api/server/push'
/** The imgType for expanded notifications. */
const expandedPicture = '1'
/** Stored for a task whose picture Meizu refuses. */
const noPicture = 'none'
/** The part of a send's time limit for which it waits for its picture: the rest is for the text. */
const pictureShare = 3
/** After this number of error replies to the upload of its picture, a task is sent without it. */
const maxUploadErrors = 3
/** Number of tasks whose error replies are counted; with more, the oldest is forgotten. */
const maxCountedTasks = 1000

/** A message with the optional parts that it still has. */
type Draft = {
  payload: MeizuPayload
  picture: string
  parts: readonly OptionalPart[]
  /** Meizu has refused it with a code that may also mean a passing error. */
  wasDoubted?: true
  /** The part that was left out last, and the refusal before that. */
  leftOut?: { part: OptionalPart; reason: Reason }
}

export function openTransport(settings: MeizuSettings, deps: TransportDeps): Transport<MeizuPayload> {
  const http = openHttpClient(deps)
  const base = settings.region === 'intl' ? (deps.urls.meizuIntl ?? deps.urls.meizu) : deps.urls.meizu
  const pictureMs = Math.floor(deps.timeoutMs / pictureShare)
  /** Uploads in progress, by task. */
  const uploads = new Map<number, Promise<string>>()
  /** Number of error replies to uploads, by task. */
  const uploadErrors = new Map<number, number>()

  /** A call signed with the secret; there is no access token. */
  async function call(
    method: 'GET' | 'POST',
    path: string,
    fields: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<MeizuReply | Outcome> {
    const all = { appId: settings.appId, ...fields }
    const form = new URLSearchParams({ ...all, sign: signOf(all, settings.appSecret) }).toString()
    const url = joinUrl(base, root + path)
    const reply = await http.call(
      method === 'GET'
        ? { method, url: `${url}?${form}`, signal }
        : {
            method,
            url,
            headers: { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' },
            body: form,
            signal,
          },
    )
    return readReply(reply, deps.now())
  }

  /** Uploads the picture once per task. If that fails, or takes too long, the text is sent without it. */
  async function pictureOf({ picture, taskId }: MeizuPayload, signal: AbortSignal): Promise<string> {
    if (!picture) return noPicture
    try {
      const uploaded = within(shareUpload(taskId, picture), pictureMs, () => noPicture)
      return await untilAborted(uploaded, signal)
    } catch {
      return noPicture
    }
  }

  /** The sends of a task share one upload and its error: otherwise each would make another upload after the one that failed. */
  function shareUpload(taskId: number, picture: string): Promise<string> {
    const running = uploads.get(taskId)
    if (running) return running
    const started = deps.taskMemory(taskId, 'picture', () => upload(taskId, picture))
    uploads.set(taskId, started)
    const forget = () => uploads.delete(taskId)
    started.then(forget, forget)
    return started
  }

  /** An error that may pass is thrown, so that a later send uploads the picture again. */
  async function upload(taskId: number, picture: string): Promise<string> {
    const fields = { imgType: expandedPicture, imgUrl: picture }
    const reply = await call('POST', '/uploadImg', fields, AbortSignal.timeout(pictureMs))
    if ((!isReply(reply) || mayPass(reply)) && countUploadError(taskId) < maxUploadErrors)
      throw new Error('the picture could not be uploaded')
    uploadErrors.delete(taskId)
    if (!isReply(reply) || reply.code !== '200') return noPicture
    const { imgUrl } = reply.value
    return typeof imgUrl === 'string' && imgUrl ? imgUrl : noPicture
  }

  function countUploadError(taskId: number): number {
    const count = (uploadErrors.get(taskId) ?? 0) + 1
    uploadErrors.set(taskId, count)
    if (uploadErrors.size > maxCountedTasks) uploadErrors.delete(uploadErrors.keys().next().value as number)
    return count
  }

  /** Returns the outcome of a request that is too large for one token. */
  async function push(
    draft: Draft,
    tokens: readonly string[],
    signal: AbortSignal,
    report: ReportToken,
  ): Promise<Outcome | undefined> {
    const { payload, picture, parts } = draft
    const fields = { messageJson: messageJson(payload, picture, parts), pushIds: tokens.join() }
    const path = `/${payload.pushType}/pushByPushId`
    const reply = await call('POST', path, fields, signal).catch(outcomeOfError)
    if (tokens.length > 1 && isSmallerTried(reply))
      return sendHalves(tokens, (half) => push(draft, half, signal, report), report)
    if (isReply(reply) && mayRefuseField(reply) && parts.length > 0) {
      const isDoubtful = mayPass(reply) && !draft.wasDoubted
      return push(isDoubtful ? { ...draft, wasDoubted: true } : reduce(draft, reply), tokens, signal, report)
    }
    if (isReply(reply) && reply.code === '200') holdLeftOut(draft)
    const outcomes = isReply(reply) ? classify(reply, tokens, deps.now()) : tokens.map(() => reply)
    tokens.forEach((token, i) => {
      report(token, outcomes[i]!)
    })
    return !isReply(reply) && wasTooLarge(reply) ? reply : undefined
  }

  function reduce({ parts, ...draft }: Draft, reply: MeizuReply): Draft {
    const [part, ...rest] = parts
    const outcome = outcomeOfCall(reply, deps.now())
    const leftOut = part && 'reason' in outcome ? { part, reason: outcome.reason } : undefined
    return { ...draft, parts: rest, leftOut }
  }

  /** The message was accepted without this part, so the next ones leave it out. A picture is refused for its task only. */
  function holdLeftOut({ leftOut }: Draft): void {
    if (!leftOut || leftOut.part === 'picture') return
    const { part, reason } = leftOut
    deps.holds.add(`without ${part}`, { kind: 'rejected', reason }, deps.now() + refusalHoldMs)
  }

  function partsOf(payload: MeizuPayload, picture: string): OptionalPart[] {
    const has = {
      picture: picture !== noPicture,
      'timed display': payload.timedDisplay !== undefined,
      receipts: payload.receipts !== undefined,
    }
    return optionalParts.filter((part) => has[part] && !deps.holds.find(`without ${part}`))
  }

  async function send(
    payload: MeizuPayload,
    recipients: readonly Recipient[],
    { signal, report }: SendContext,
  ): Promise<void> {
    if (recipients.length === 0) return
    const { tokens, reportToken } = distinctTokens(recipients, report)
    const picture = await pictureOf(payload, signal)
    const draft = { payload, picture, parts: partsOf(payload, picture) }
    await push(draft, tokens, signal, reportToken)
  }

  /** Reads today's statistics: signed like a push, but sends nothing. */
  async function check(signal: AbortSignal): Promise<CheckResult> {
    const today = shanghaiDate(deps.now())
    const days = { startTime: today, endTime: today }
    const reply = await call('GET', '/statistics/dailyPushStatics', days, signal).catch(outcomeOfError)
    if (isReply(reply) && reply.code === '200') return { ok: true }
    return failedCheck('Meizu', isReply(reply) ? outcomeOfCall(reply, deps.now()) : reply)
  }

  return { send, check, close: () => http.close() }
}

/** Meizu refused the whole call because of one target, which it does not name, or because of the size of the request. */
function isSmallerTried(reply: MeizuReply | Outcome): boolean {
  return isReply(reply) ? isRefusedForTarget(reply) : wasTooLarge(reply)
}
