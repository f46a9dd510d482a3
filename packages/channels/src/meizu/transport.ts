import type { Outcome } from '@herald/domain'
import type { CheckResult, Recipient, SendContext, Transport, TransportDeps } from '../channel.ts'
import { untilAborted } from '../shared/abort.ts'
import { joinUrl } from '../shared/http.ts'
import { openHttpClient } from '../shared/http-client.ts'
import { failedCheck, outcomeOfError } from '../shared/outcome.ts'
import { shanghaiDate } from '../shared/shanghai-time.ts'
import {
  classify,
  isRefusedForTarget,
  isReply,
  type MeizuReply,
  outcomeOfCall,
  readReply,
} from './classify.ts'
import type { MeizuPayload } from './payload.ts'
import type { MeizuSettings } from './settings.ts'
import { signOf } from './sign.ts'

const root = '/garcia/api/server/push'
/** The imgType for expanded notifications. */
const expandedPicture = '1'
/** Stored for a task whose picture Meizu refuses. */
const noPicture = 'none'

export function openTransport(settings: MeizuSettings, deps: TransportDeps): Transport<MeizuPayload> {
  const http = openHttpClient(deps)
  const base = settings.region === 'intl' ? (deps.urls.meizuIntl ?? deps.urls.meizu) : deps.urls.meizu

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

  /** Uploads the picture once per task. If that fails, the text is sent without it. */
  async function uploadPicture(payload: MeizuPayload, signal: AbortSignal): Promise<string> {
    const { picture, taskId } = payload
    if (!picture) return noPicture
    const upload = async () => {
      const reply = await call('POST', '/uploadImg', { imgType: expandedPicture, imgUrl: picture })
      if (!isReply(reply)) throw new Error('the picture could not be uploaded')
      const { imgUrl } = reply.value
      return reply.code === '200' && typeof imgUrl === 'string' && imgUrl ? imgUrl : noPicture
    }
    try {
      return await untilAborted(deps.taskMemory(taskId, 'picture', upload), signal)
    } catch {
      return noPicture
    }
  }

  async function push(
    pushType: MeizuPayload['pushType'],
    messageJson: string,
    tokens: readonly string[],
    signal: AbortSignal,
    report: (token: string, outcome: Outcome) => void,
  ): Promise<void> {
    const fields = { messageJson, pushIds: tokens.join() }
    const reply = await call('POST', `/${pushType}/pushByPushId`, fields, signal).catch(outcomeOfError)
    // Meizu refuses the whole call because of one bad target, so it is halved until the bad one is alone.
    if (isReply(reply) && isRefusedForTarget(reply) && tokens.length > 1) {
      const middle = Math.ceil(tokens.length / 2)
      for (const half of [tokens.slice(0, middle), tokens.slice(middle)])
        await push(pushType, messageJson, half, signal, report)
      return
    }
    const outcomes = isReply(reply) ? classify(reply, tokens, deps.now()) : tokens.map(() => reply)
    tokens.forEach((token, i) => {
      report(token, outcomes[i]!)
    })
  }

  async function send(
    payload: MeizuPayload,
    recipients: readonly Recipient[],
    { signal, report }: SendContext,
  ): Promise<void> {
    if (recipients.length === 0) return
    const byToken = Map.groupBy(recipients.keys(), (index) => recipients[index]!.token)
    const noticeExpandImgUrl = await uploadPicture(payload, signal)
    const picture =
      noticeExpandImgUrl === noPicture
        ? {}
        : { noticeExpandInfo: { noticeExpandType: 2, noticeExpandImgUrl } }
    // Serialized once, because the signature covers this text.
    const messageJson = JSON.stringify({ ...payload.message, ...picture })
    await push(payload.pushType, messageJson, [...byToken.keys()], signal, (token, outcome) => {
      for (const index of byToken.get(token)!) report(index, outcome)
    })
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
