import { readEnvelope } from './envelope.ts'
import { toExactJson } from './exact-json.ts'
import type { ApplicationView, NewApplication } from './records.ts'

export type HeraldOperatorOptions = {
  baseUrl: string
  operatorKey: string
  /** Time limit of a call. */
  timeoutMs?: number
  fetch?: typeof globalThis.fetch
}

/** Herald as its operator sees it: the applications. What is inside one needs its secret and a HeraldServer. */
export class HeraldOperator {
  readonly #options: HeraldOperatorOptions

  constructor(options: HeraldOperatorOptions) {
    this.#options = { ...options, baseUrl: options.baseUrl.replace(/\/+$/, '') }
  }

  /** The secret is shown this once. */
  createApplication(application: NewApplication): Promise<{ app_id: string; app_secret: string }> {
    return this.#call('POST', '/admin/app', application)
  }

  /** The old secret and all that was opened with it end; the new one is shown this once. */
  renewSecret(appId: string): Promise<{ app_id: string; app_secret: string }> {
    return this.#call('POST', '/admin/app/secret', { app_id: appId })
  }

  applications(): Promise<ApplicationView[]> {
    return this.#call('GET', '/admin/app/list')
  }

  async #call<Data>(method: 'GET' | 'POST', path: string, body?: object): Promise<Data> {
    const { fetch = globalThis.fetch, baseUrl, operatorKey, timeoutMs = 30_000 } = this.#options
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      signal: AbortSignal.timeout(timeoutMs),
      headers: { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/json' },
      ...(body && { body: toExactJson(body) }),
    })
    return (await readEnvelope(response)) as Data
  }
}
