import type { Transport, TransportDeps } from '../channel.ts'
import { joinUrl } from '../shared/http.ts'
import { openHttpClient } from '../shared/http-client.ts'
import { failedCheck, outcomeOfError } from '../shared/outcome.ts'
import { classify } from './classify.ts'
import type { AcmePayload } from './payload.ts'
import type { AcmeSettings } from './settings.ts'

export function openTransport({ appId, key }: AcmeSettings, deps: TransportDeps): Transport<AcmePayload> {
  const http = openHttpClient(deps)
  async function post(path: string, body: object, signal: AbortSignal) {
    try {
      const headers = { authorization: `Rocket ${appId}:${key}`, 'content-type': 'application/json' }
      const url = joinUrl(deps.urls.acme, path)
      return classify(await http.call({ url, headers, body: JSON.stringify(body), signal }), deps.now())
    } catch (error) {
      const outcome = outcomeOfError(error)
      return () => outcome
    }
  }
  return {
    async send(payload, recipients, { signal, report }) {
      const outcomeOf = await post(
        '/send',
        { ...payload, tokens: recipients.map(({ token }) => token) },
        signal,
      )
      for (const [index, { token }] of recipients.entries()) report(index, outcomeOf(token))
    },
    async check(signal) {
      const outcome = (await post('/check', {}, signal))('')
      return outcome.kind === 'accepted' ? { ok: true } : failedCheck('Acme', outcome)
    },
    close: () => http.close(),
  }
}
