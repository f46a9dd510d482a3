/** An error response. `code` is Herald's five-digit code, or 0 if the response did not come from Herald. */
export class HeraldError extends Error {
  override name = 'HeraldError'
  readonly code: number
  readonly status: number
  /** Seconds to wait before a retry, from the header retry-after. */
  readonly retryAfter?: number

  constructor(code: number, status: number, message: string, retryAfter?: number) {
    super(message)
    this.code = code
    this.status = status
    this.retryAfter = retryAfter
  }
}
