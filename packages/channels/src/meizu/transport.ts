import type { Outcome } from '@herald/domain'
import type { CheckResult, Recipient, SendContext, Transport, TransportDeps } from '../channel.ts'
import { shanghaiDate } from '../shared/day.ts'
import { joinUrl, openHttpClient, outcomeOfFailure } from '../shared/http.ts'
import { untilAborted } from '../shared/pass.ts'
import { blamesATarget, classify, isReply, type MeizuReply, outcomeOfCall, readReply } from './classify.ts'
import type { MeizuPayload } from './payload.ts'
import type { MeizuSettings } from './settings.ts'
import { signOf } from './sign.ts'

const root = '/garcia/api/server/push'
/** The kind of picture that an expanded notice shows. */
const expandedPicture = '1'
/** Remembered for a task whose picture Meizu does not take. */
const noPicture = 'none'

export function openTransport(settings: MeizuSettings, deps: TransportDeps): Transport<MeizuPayload> {
  const http = openHttpClient(deps)
  const base = settings.region === 'intl' ? (deps.urls.meizuIntl ?? deps.urls.meizu) : deps.urls.meizu

  /** A call signed with the secret: there is no pass to fetch or to lose. */
  async function ask(
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

  /** Lodges the picture once a task. Without it the text goes out alone: a picture is never worth a failure. */
  async function lodge(payload: MeizuPayload, signal: AbortSignal): Promise<string> {
    const { picture, taskId } = payload
    if (!picture) return noPicture
    const upload = async () => {
      const reading = await ask('POST', '/uploadImg', { imgType: expandedPicture, imgUrl: picture })
      if (!isReply(reading)) throw new Error('the picture could not be lodged')
      const { imgUrl } = reading.value
      return reading.code === '200' && typeof imgUrl === 'string' && imgUrl ? imgUrl : noPicture
    }
    try {
      return await untilAborted(deps.taskMemory(taskId, 'picture', upload), signal)
    } catch {
      return noPicture
    }
  }

  async function push(
    way: MeizuPayload['way'],
    messageJson: string,
    tokens: readonly string[],
    signal: AbortSignal,
    tell: (token: string, outcome: Outcome) => void,
  ): Promise<void> {
    const fields = { messageJson, pushIds: tokens.join() }
    const reading = await ask('POST', `/${way}/pushByPushId`, fields, signal).catch(outcomeOfFailure)
    // A call refused for one bad target is asked again in halves, until the bad one stands alone.
    if (isReply(reading) && blamesATarget(reading) && tokens.length > 1) {
      const middle = Math.ceil(tokens.length / 2)
      for (const half of [tokens.slice(0, middle), tokens.slice(middle)])
        await push(way, messageJson, half, signal, tell)
      return
    }
    const outcomes = isReply(reading) ? classify(reading, tokens, deps.now()) : tokens.map(() => reading)
    tokens.forEach((token, i) => {
      tell(token, outcomes[i]!)
    })
  }

  async function send(
    payload: MeizuPayload,
    recipients: readonly Recipient[],
    { signal, report }: SendContext,
  ): Promise<void> {
    if (recipients.length === 0) return
    const places = Map.groupBy(recipients.keys(), (index) => recipients[index]!.token)
    const noticeExpandImgUrl = await lodge(payload, signal)
    const picture =
      noticeExpandImgUrl === noPicture
        ? {}
        : { noticeExpandInfo: { noticeExpandType: 2, noticeExpandImgUrl } }
    // Written once: the sign covers this very text.
    const messageJson = JSON.stringify({ ...payload.message, ...picture })
    await push(payload.way, messageJson, [...places.keys()], signal, (token, outcome) => {
      for (const index of places.get(token)!) report(index, outcome)
    })
  }

  /** Today's statistics: signed like a push, and pushes nothing. */
  async function check(signal: AbortSignal): Promise<CheckResult> {
    const today = shanghaiDate(deps.now())
    const days = { startTime: today, endTime: today }
    const reading = await ask('GET', '/statistics/dailyPushStatics', days, signal).catch(outcomeOfFailure)
    if (isReply(reading) && reading.code === '200') return { ok: true }
    const outcome = isReply(reading) ? outcomeOfCall(reading, deps.now()) : reading
    const problem = 'reason' in outcome ? outcome.reason : outcome.kind
    return { ok: false, problem: `Meizu: ${problem}`, temporary: outcome.kind !== 'misconfigured' }
  }

  return { send, check, close: () => http.close() }
}
