import type { CheckResult, MintedSession, Recipient, Transport, TransportDeps } from '../channel.ts'
import { untilAborted } from '../shared/abort.ts'
import { callWithAccessToken, sessionKey } from '../shared/access-token.ts'
import { type HttpReply, joinUrl } from '../shared/http.ts'
import { openHttpClient } from '../shared/http-client.ts'
import { CallRefused, failedCheck, outcomeOfError } from '../shared/outcome.ts'
import { authForm, readAuth } from './auth.ts'
import { type CodeResult, classifyAuth, classifySend, type SendResult } from './classify.ts'
import type { OppoNotification, OppoPayload } from './payload.ts'
import { authPath, batchPath, openWriter, unicastPath } from './request.ts'
import type { OppoSettings } from './settings.ts'

/** A payload with its picture, or without. */
type Variant = { writer: ReturnType<typeof openWriter>; withoutPicture?: () => Variant }

export function openTransport(settings: OppoSettings, deps: TransportDeps): Transport<OppoPayload> {
  const http = openHttpClient(deps)
  const key = sessionKey('auth_token', settings.appKey, settings.masterSecret)
  const base = settings.region === 'intl' ? (deps.urls.oppoIntl ?? deps.urls.oppo) : deps.urls.oppo

  function post(path: string, body: string, signal?: AbortSignal): Promise<HttpReply> {
    return http.call({
      url: joinUrl(base, path),
      headers: { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' },
      body,
      signal,
    })
  }

  async function mint(): Promise<MintedSession> {
    const reply = await post(authPath, authForm(settings, deps.now()))
    const minted = readAuth(reply, deps.now())
    if (!minted) throw new CallRefused(classifyAuth(reply, deps.now()))
    return minted
  }

  /** One call for one or several recipients, with a new auth token if the shared one has expired. */
  async function callOnce(
    { classFrom }: OppoPayload,
    { writer }: Variant,
    recipients: readonly Recipient[],
    signal: AbortSignal,
  ): Promise<SendResult> {
    const [only] = recipients
    const [path, fields] =
      recipients.length === 1 ? [unicastPath, writer.unicast(only!)] : [batchPath, writer.batch(recipients)]
    try {
      return await callWithAccessToken(deps.session, key, mint, signal, async (token) => {
        const reply = await post(path, `auth_token=${encodeURIComponent(token)}&${fields}`, signal)
        const result = classifySend(reply, { classFrom, nowMs: deps.now() })
        return { result, tokenRefused: 'whole' in result && result.whole.cause === 'expired' }
      })
    } catch (error) {
      return { whole: { outcome: outcomeOfError(error) } }
    }
  }

  return {
    async send(payload, recipients, { signal, report }) {
      const attempt = async (variant: Variant, indexes: readonly number[]): Promise<void> => {
        const result = await callOnce(
          payload,
          variant,
          indexes.map((index) => recipients[index]!),
          signal,
        )
        // OPPO refuses the whole batch because of one bad id, so the batch is halved until the bad one is alone.
        if ('whole' in result && result.whole.cause === 'target' && indexes.length > 1) {
          const middle = indexes.length >> 1
          await attempt(variant, indexes.slice(0, middle))
          await attempt(variant, indexes.slice(middle))
          return
        }
        const resultOf = (index: number): CodeResult =>
          'whole' in result ? result.whole : result.resultOf(recipients[index]!.token)
        const retry: number[] = []
        for (const index of indexes) {
          const { outcome, cause } = resultOf(index)
          if (cause === 'picture' && variant.withoutPicture) retry.push(index)
          else report(index, outcome)
        }
        if (retry.length > 0) await attempt(variant.withoutPicture!(), retry)
      }
      await attempt(variantOf(payload), [...recipients.keys()])
    },

    async check(signal): Promise<CheckResult> {
      let minted = false
      const mintNow = () => {
        minted = true
        return mint()
      }
      try {
        // A new token may invalidate the old one, so the check stores its token as the shared one.
        const token = await untilAborted(deps.session(key, mintNow), signal)
        if (!minted) await untilAborted(deps.session(key, mintNow, token), signal)
        return { ok: true }
      } catch (error) {
        return failedCheck('OPPO', outcomeOfError(error))
      }
    },

    close: () => http.close(),
  }
}

function variantOf({ taskId, notification, plain }: OppoPayload): Variant {
  const write = (one: OppoNotification): Variant => ({ writer: openWriter(taskId, one) })
  return plain ? { ...write(notification), withoutPicture: () => write(plain) } : write(notification)
}
