import { eachConcurrently } from '@herald/async'
import { type Outcome, ownReasons } from '@herald/domain'
import type { CheckResult, Transport, TransportDeps } from '../channel.ts'
import { distinctTokens, type ReportToken } from '../shared/distinct-tokens.ts'
import { refusalHoldMs } from '../shared/hold-refusals.ts'
import { type HttpReply, joinUrl } from '../shared/http.ts'
import { openHttpClient } from '../shared/http-client.ts'
import {
  concernsAll,
  failedCheck,
  isRefusedOrUnanswered,
  outcomeOfError,
  outcomeOfWithdrawal,
} from '../shared/outcome.ts'
import { halvesOf } from '../shared/too-large.ts'
import { classifyCheck, classifySend, type SendResult } from './classify.ts'
import { withoutReceipts, type XiaomiPayload } from './payload.ts'
import type { XiaomiSettings } from './settings.ts'

export function openTransport(settings: XiaomiSettings, deps: TransportDeps): Transport<XiaomiPayload> {
  const http = openHttpClient(deps)
  const authorization = `key=${settings.appSecret}`
  const formHeaders = { authorization, 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' }

  function post(
    fields: Readonly<Record<string, string>>,
    tokens: readonly string[],
    signal: AbortSignal,
  ): Promise<HttpReply> {
    return http.call({
      url: joinUrl(deps.urls.xiaomi, '/v3/message/regid'),
      headers: formHeaders,
      body: `${new URLSearchParams(fields)}&registration_id=${encodeURIComponent(tokens.join(','))}`,
      signal,
    })
  }

  async function callOnce(
    payload: XiaomiPayload,
    tokens: readonly string[],
    signal: AbortSignal,
  ): Promise<SendResult> {
    try {
      return classifySend(await post(payload.fields, tokens, signal), deps.now())
    } catch (error) {
      return { whole: outcomeOfError(error) }
    }
  }

  /** Sends in one call or, for the reasons below, in several. No call that is repeated has delivered anything. */
  async function sendTo(
    payload: XiaomiPayload,
    all: readonly string[],
    signal: AbortSignal,
    report: ReportToken,
  ): Promise<void> {
    type Part = { tokens: readonly string[]; checkedTargets?: true }
    /** Parts to send at the same time: all, or the halves of calls that were refused for a regid that Xiaomi does not name. */
    let next: Part[] = [{ tokens: all }]
    let wanted = payload
    let stopped: Outcome | undefined

    async function sendPart(start: Part): Promise<void> {
      const parts = [start]
      for (let part = parts.pop(); part; part = parts.pop()) {
        const { tokens } = part
        // By the time of the reply, another part may have changed `wanted`.
        const sent = wanted
        const result: SendResult = stopped ? { whole: stopped } : await callOnce(sent, tokens, signal)
        if ('outcomeOf' in result) {
          for (const token of tokens) report(token, result.outcomeOf(token))
          continue
        }
        const { whole, cause } = result
        const isOne = tokens.length === 1
        const plain = cause === 'receipts' ? withoutReceipts(sent) : undefined
        if (plain) {
          if (whole.kind === 'rejected') deps.holds.add(receiptScope, whole, deps.now() + refusalHoldMs)
          wanted = plain
          parts.push(part)
        } else if (cause === 'targets' && !isOne && !part.checkedTargets) {
          // Each half is sent once more: one wrong reply must not retire a thousand tokens.
          const [first, second] = halvesOf(tokens)
          parts.push({ tokens: second, checkedTargets: true }, { tokens: first, checkedTargets: true })
        } else if (cause === 'too-large' && !isOne) {
          const [first, second] = halvesOf(tokens)
          parts.push({ ...part, tokens: second }, { ...part, tokens: first })
        } else if (cause === 'one-target' && !isOne) {
          for (const half of halvesOf(tokens)) next.push({ ...part, tokens: half })
        } else {
          // What concerns every request, or is too large for one token, would be the same for the rest.
          if (cause === 'too-large' || concernsAll(whole)) stopped = whole
          for (const token of tokens) report(token, whole)
        }
      }
    }

    while (next.length > 0) {
      const round = next
      next = []
      await eachConcurrently(round, callsAtOnce, sendPart)
    }
  }

  /**
   * One call per regid: whether Xiaomi accepts several is not documented, and its own SDK writes them in a form that the server cannot
   * read. After an outcome that concerns every call, the rest gets it without one.
   */
  async function withdraw(
    fields: Readonly<Record<string, string>>,
    tokens: readonly string[],
    signal: AbortSignal,
    report: ReportToken,
  ): Promise<void> {
    let forAll: Outcome | undefined
    await eachConcurrently(tokens, callsAtOnce, async (token) => {
      const outcome = forAll ?? (await withdrawOne(fields, token, signal))
      if (concernsAll(outcome)) forAll = outcome
      report(token, outcome)
    })
  }

  async function withdrawOne(
    fields: Readonly<Record<string, string>>,
    token: string,
    signal: AbortSignal,
  ): Promise<Outcome> {
    try {
      const reply = await http.call({
        url: joinUrl(deps.urls.xiaomi, '/v1/message/regid/revoke'),
        headers: formHeaders,
        body: new URLSearchParams({ ...fields, registration_ids: token }).toString(),
        signal,
      })
      const result = classifySend(reply, deps.now())
      return outcomeOfWithdrawal('whole' in result ? result.whole : result.outcomeOf(token))
    } catch (error) {
      return outcomeOfError(error)
    }
  }

  /**
   * Sends to a regid that no device can have. The quota is readable with the secret alone; this call also shows whether Xiaomi
   * accepts the package name and lets the application send. All other codes are about this message.
   */
  async function findRefusal(signal: AbortSignal): Promise<Outcome | undefined> {
    const fields = {
      restricted_package_name: settings.packageName,
      pass_through: '0',
      title: 'Credentials',
      description: 'Are the credentials valid?',
      'extra.notify_effect': '1',
      'extra.only_send_once': '1',
    }
    const result = classifySend(await post(fields, ['no-such-regid'], signal), deps.now())
    return 'whole' in result && isRefusedOrUnanswered(result.whole) ? result.whole : undefined
  }

  async function checkCredentials(signal: AbortSignal): Promise<CheckResult> {
    const reply = await http.call({
      method: 'GET',
      url: joinUrl(deps.urls.xiaomi, '/v1/trace/quota/get'),
      headers: { authorization },
      signal,
    })
    const quota = classifyCheck(reply, deps.now())
    if (quota.kind === 'misconfigured') return failedCheck('Xiaomi', quota)
    const refusal = await findRefusal(signal)
    if (refusal?.kind === 'misconfigured') return failedCheck('Xiaomi', refusal)
    const failure = quota.kind === 'accepted' ? refusal : quota
    return failure ? failedCheck('Xiaomi', failure) : { ok: true }
  }

  return {
    async send(payload, recipients, { signal, report }) {
      const trimmed = recipients.map(({ token }) => ({ token: token.trim() }))
      const wellFormed: number[] = []
      for (const [index, { token }] of trimmed.entries()) {
        // Xiaomi separates targets by commas.
        if (token === '' || token.includes(',')) report(index, malformed)
        else wellFormed.push(index)
      }
      if (wellFormed.length === 0) return
      const { tokens, reportToken } = distinctTokens(trimmed, report, wellFormed)
      if (payload.withdraws) return withdraw(payload.fields, tokens, signal, reportToken)
      const wanted = (deps.holds.find(receiptScope) ? withoutReceipts(payload) : undefined) ?? payload
      await sendTo(wanted, tokens, signal, reportToken)
    },
    async check(signal) {
      try {
        return await checkCredentials(signal)
      } catch (error) {
        return failedCheck('Xiaomi', outcomeOfError(error))
      }
    },
    close: () => http.close(),
  }
}

/** A thousand calls of 200 ms each then end within the time limit of a send. What Xiaomi refuses as too fast is tried again. */
const callsAtOnce = 16

/** Xiaomi refused the receipt address. Messages without it arrive, and only their receipts are missing. */
const receiptScope = 'without receipts'

const malformed: Outcome = {
  kind: 'rejected',
  reason: ownReasons.token_malformed('the token is not a regid'),
}
