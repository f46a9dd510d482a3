import type { Outcome } from '@herald/domain'
import type { Transport, TransportDeps } from '../channel.ts'
import { joinUrl, openHttpClient, outcomeOfFailure } from '../shared/http.ts'
import { classifyCheck, classifySend, type SendVerdict } from './classify.ts'
import type { XiaomiPayload } from './payload.ts'
import type { XiaomiSettings } from './settings.ts'

export function openTransport(settings: XiaomiSettings, deps: TransportDeps): Transport<XiaomiPayload> {
  const http = openHttpClient(deps)
  const authorization = `key=${settings.appSecret}`

  async function ask(payload: XiaomiPayload, tokens: readonly string[], signal: AbortSignal) {
    try {
      const reply = await http.call({
        url: joinUrl(deps.urls.xiaomi, '/v3/message/regid'),
        headers: { authorization, 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' },
        body: `${new URLSearchParams(payload.fields)}&registration_id=${encodeURIComponent(tokens.join(','))}`,
        signal,
      })
      return classifySend(reply, payload.channelFrom, deps.now())
    } catch (error) {
      const outcome = outcomeOfFailure(error)
      return { outcomeOf: () => outcome } satisfies SendVerdict
    }
  }

  /**
   * “No valid target” for many is asked again in halves, once: one odd answer must not retire a thousand tokens, and the
   * first call delivered nothing.
   */
  async function judge(
    payload: XiaomiPayload,
    tokens: readonly string[],
    signal: AbortSignal,
    report: (token: string, outcome: Outcome) => void,
    mayHalve: boolean,
  ): Promise<void> {
    const verdict = await ask(payload, tokens, signal)
    if ('noValidTarget' in verdict && mayHalve && tokens.length > 1) {
      const middle = Math.ceil(tokens.length / 2)
      await judge(payload, tokens.slice(0, middle), signal, report, false)
      await judge(payload, tokens.slice(middle), signal, report, false)
      return
    }
    for (const token of tokens)
      report(token, 'noValidTarget' in verdict ? verdict.noValidTarget : verdict.outcomeOf(token))
  }

  return {
    async send(payload, recipients, { signal, report }) {
      const indexesOf = new Map<string, number[]>()
      for (const [index, recipient] of recipients.entries()) {
        const token = recipient.token.trim()
        const same = indexesOf.get(token)
        // A comma would make two targets of one token, and neither would be this device.
        if (token === '' || token.includes(',')) report(index, malformed)
        else if (same) same.push(index)
        else indexesOf.set(token, [index])
      }
      if (indexesOf.size === 0) return
      const reportToken = (token: string, outcome: Outcome) => {
        for (const index of indexesOf.get(token)!) report(index, outcome)
      }
      await judge(payload, [...indexesOf.keys()], signal, reportToken, true)
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
        outcome = outcomeOfFailure(error)
      }
      if (outcome.kind === 'accepted') return { ok: true }
      return {
        ok: false,
        problem: `Xiaomi answered the check with ${outcome.reason}`,
        temporary: outcome.kind !== 'misconfigured',
      }
    },
    close: () => http.close(),
  }
}

const malformed: Outcome = { kind: 'rejected', reason: 'token is not a regid' }
