import type { Outcome } from '@herald/domain'
import type { CheckResult, MintedSession, Recipient, Transport, TransportDeps } from '../channel.ts'
import { type HttpReply, joinUrl, openHttpClient } from '../shared/http.ts'
import { CallRefused, callWithPass, outcomeOfThrown, passKey, untilAborted } from '../shared/pass.ts'
import { authForm, readAuth } from './auth.ts'
import { classifyAuth, classifySend, type Reading, type SendVerdict } from './classify.ts'
import type { OppoNotification, OppoPayload } from './payload.ts'
import { authPath, batchPath, openWriter, unicastPath } from './request.ts'
import type { OppoSettings } from './settings.ts'

/** One way a payload may be written: with its picture, or without. */
type Form = { writer: ReturnType<typeof openWriter>; withoutPicture?: () => Form }

export function openTransport(settings: OppoSettings, deps: TransportDeps): Transport<OppoPayload> {
  const http = openHttpClient(deps)
  const key = passKey('auth_token', settings.appKey, settings.masterSecret)
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

  /** One call for one or many, with a fresh auth token if the shared one has run out. */
  async function ask(
    { classFrom }: OppoPayload,
    { writer }: Form,
    recipients: readonly Recipient[],
    signal: AbortSignal,
  ): Promise<SendVerdict> {
    const [only] = recipients
    const [path, fields] =
      recipients.length === 1 ? [unicastPath, writer.unicast(only!)] : [batchPath, writer.batch(recipients)]
    try {
      return await callWithPass<SendVerdict>(deps.session, key, mint, signal, async (pass) => {
        const reply = await post(path, `auth_token=${encodeURIComponent(pass)}&${fields}`, signal)
        const verdict = classifySend(reply, { classFrom, nowMs: deps.now() })
        return 'whole' in verdict && verdict.whole.cause === 'expired'
          ? { refresh: verdict }
          : { done: verdict }
      })
    } catch (error) {
      return { whole: { outcome: outcomeOfThrown(error) } }
    }
  }

  return {
    async send(payload, recipients, { signal, report }) {
      const attempt = async (form: Form, indexes: readonly number[]): Promise<void> => {
        const verdict = await ask(
          payload,
          form,
          indexes.map((index) => recipients[index]!),
          signal,
        )
        // A refusal of the whole batch over one bad id says nothing about the others, so they are asked apart.
        if ('whole' in verdict && verdict.whole.cause === 'target' && indexes.length > 1) {
          const middle = indexes.length >> 1
          await attempt(form, indexes.slice(0, middle))
          await attempt(form, indexes.slice(middle))
          return
        }
        const readingOf = (index: number): Reading =>
          'whole' in verdict ? verdict.whole : verdict.readingOf(recipients[index]!.token)
        const again: number[] = []
        for (const index of indexes) {
          const { outcome, cause } = readingOf(index)
          if (cause === 'picture' && form.withoutPicture) again.push(index)
          else report(index, outcome)
        }
        if (again.length > 0) await attempt(form.withoutPicture!(), again)
      }
      await attempt(formOf(payload), [...recipients.keys()])
    },

    async check(signal): Promise<CheckResult> {
      let asked = false
      const ask = () => {
        asked = true
        return mint()
      }
      try {
        // Kept as the shared token: a new one may void the old, so a check must not mint one that nobody uses.
        const pass = await untilAborted(deps.session(key, ask), signal)
        if (!asked) await untilAborted(deps.session(key, ask, pass), signal)
        return { ok: true }
      } catch (error) {
        return problemOf(outcomeOfThrown(error))
      }
    },

    close: () => http.close(),
  }
}

function formOf({ taskId, notification, plain }: OppoPayload): Form {
  const write = (one: OppoNotification): Form => ({ writer: openWriter(taskId, one) })
  return plain ? { ...write(notification), withoutPicture: () => write(plain) } : write(notification)
}

function problemOf(outcome: Outcome): CheckResult {
  const reason = 'reason' in outcome ? outcome.reason : outcome.kind
  return {
    ok: false,
    problem: `OPPO answered the check with ${reason}`,
    temporary: outcome.kind !== 'misconfigured',
  }
}
