import { readEnvelope } from './envelope.ts'
import { toExactJson } from './exact-json.ts'
import type { ApplicationView, AuditPage, AuditSearch, NewApplication } from './records.ts'

export type HeraldOperatorOptions = {
  baseUrl: string
  operatorKey: string
  /** Timeout of a call (default 30 s). */
  timeoutMs?: number
  fetch?: typeof globalThis.fetch
}

/** Calls of the operator: manages applications. Use HeraldServer with an application's secret for its data. */
export class HeraldOperator {
  readonly #options: HeraldOperatorOptions

  constructor(options: HeraldOperatorOptions) {
    this.#options = { ...options, baseUrl: options.baseUrl.replace(/\/+$/, '') }
  }

  /** The secret is returned only once. */
  createApplication(application: NewApplication): Promise<{ app_id: string; app_secret: string }> {
    return this.#call('POST', '/admin/app', application)
  }

  /** Fields that are left out stay as they are. */
  changeApplication(appId: string, change: Partial<NewApplication>): Promise<{ app_id: string }> {
    return this.#call('PUT', '/admin/app', { app_id: appId, ...change })
  }

  /**
   * Revokes all admin tokens and console sessions. The old secret stays valid for `keepOldSeconds` (at most 86400, default 0). The new
   * secret is returned only once.
   */
  renewSecret(
    appId: string,
    options: { keepOldSeconds?: number } = {},
  ): Promise<{ app_id: string; app_secret: string }> {
    const { keepOldSeconds } = options
    return this.#call('POST', '/admin/app/secret', { app_id: appId, keep_old_seconds: keepOldSeconds })
  }

  applications(): Promise<ApplicationView[]> {
    return this.#call('GET', '/admin/app/list')
  }

  /** What concerns no application, such as wrong operator keys, newest first. */
  auditList(search: AuditSearch = {}): Promise<AuditPage> {
    return this.#call('POST', '/admin/app/audit', search)
  }

  async #call<Data>(method: 'GET' | 'POST' | 'PUT', path: string, body?: object): Promise<Data> {
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
