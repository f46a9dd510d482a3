/** An answer other than success. `code` is Herald's five-digit code, 0 when the answer was not Herald's at all. */
export class HeraldError extends Error {
  override name = 'HeraldError'
  readonly code: number
  readonly status: number
  /** Seconds to wait before another try, when Herald said so. */
  readonly retryAfter?: number

  constructor(code: number, status: number, message: string, retryAfter?: number) {
    super(message)
    this.code = code
    this.status = status
    this.retryAfter = retryAfter
  }
}
