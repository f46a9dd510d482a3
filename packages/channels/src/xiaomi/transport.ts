import { type Outcome, ownReasons } from '@herald/domain'
import type { Transport, TransportDeps } from '../channel.ts'
import { joinUrl } from '../shared/http.ts'
import { openHttpClient } from '../shared/http-client.ts'
import { failedCheck, outcomeOfError } from '../shared/outcome.ts'
import { classifyCheck, classifySend, type SendResult } from './classify.ts'
import type { XiaomiPayload } from './payload.ts'
import type { XiaomiSettings } from './settings.ts'

export function openTransport(settings: XiaomiSettings, deps: TransportDeps): Transport<XiaomiPayload> {
  const http = openHttpClient(deps)
  const authorization = `key=${settings.appSecret}`

  async function post(payload: XiaomiPayload, tokens: readonly string[], signal: AbortSignal) {
    try {
      const reply = await http.call({
        url: joinUrl(deps.urls.xiaomi, '/v3/message/regid'),
        headers: { authorization, 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' },
        body: `${new URLSearchParams(payload.fields)}&registration_id=${encodeURIComponent(tokens.join(','))}`,
        signal,
      })
      return classifySend(reply, payload.channelFrom, deps.now())
    } catch (error) {
      const outcome = outcomeOfError(error)
      return { outcomeOf: () => outcome } satisfies SendResult
    }
  }

  /**
   * After “no valid target” for several tokens, each half is sent once more: one wrong reply must not retire a thousand tokens,
   * and the first call delivered nothing.
   */
  async function sendTo(
    payload: XiaomiPayload,
    tokens: readonly string[],
    signal: AbortSignal,
    report: (token: string, outcome: Outcome) => void,
    mayHalve: boolean,
  ): Promise<void> {
    const result = await post(payload, tokens, signal)
    if ('noValidTarget' in result && mayHalve && tokens.length > 1) {
      const middle = Math.ceil(tokens.length / 2)
      await sendTo(payload, tokens.slice(0, middle), signal, report, false)
      await sendTo(payload, tokens.slice(middle), signal, report, false)
      return
    }
    for (const token of tokens)
      report(token, 'noValidTarget' in result ? result.noValidTarget : result.outcomeOf(token))
  }

  return {
    async send(payload, recipients, { signal, report }) {
      const indexesOf = new Map<string, number[]>()
      for (const [index, recipient] of recipients.entries()) {
        const token = recipient.token.trim()
        const same = indexesOf.get(token)
        // Xiaomi separates targets by commas.
        if (token === '' || token.includes(',')) report(index, malformed)
        else if (same) same.push(index)
        else indexesOf.set(token, [index])
      }
      if (indexesOf.size === 0) return
      const reportToken = (token: string, outcome: Outcome) => {
        for (const index of indexesOf.get(token)!) report(index, outcome)
      }
      await sendTo(payload, [...indexesOf.keys()], signal, reportToken, true)
    },
    async check(signal) {
      let outcome: Outcome
      try {
        const reply = await http.call({
          method: 'GET',
          url: joinUrl(deps.urls.xiaomi, '/v1/trace/quota/get'),
          headers: { authorization },
          signal,
        })
        outcome = classifyCheck(reply, deps.now())
      } catch (error) {
        outcome = outcomeOfError(error)
      }
      return outcome.kind === 'accepted' ? { ok: true } : failedCheck('Xiaomi', outcome)
    },
    close: () => http.close(),
  }
}

const malformed: Outcome = {
  kind: 'rejected',
  reason: ownReasons.token_malformed('the token is not a regid'),
}
