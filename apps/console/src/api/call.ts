import { HeraldError } from '@herald/client'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

export type Call = {
  /** The application the call is about; operators name any, others their own. */
  appId?: string
  /** Acts as this user, whose devices an admin may change only in their name. */
  userId?: string | number | bigint
  body?: unknown
  /** A body that is text already: JSON that must not be read and written again, or lines of it. */
  text?: string
  contentType?: string
}

/** One call with the session's cookie. Resolves with `data`, or rejects with the API's code and sentence. */
export async function call<Data>(method: Method, path: string, options: Call = {}): Promise<Data> {
  const text = options.text ?? (options.body === undefined ? undefined : toJson(options.body))
  const response = await fetch(path, {
    method,
    credentials: 'same-origin',
    headers: {
      'x-herald-console': '1',
      ...(text !== undefined && { 'content-type': options.contentType ?? 'application/json' }),
      ...(options.appId !== undefined && { app_id: options.appId }),
      ...(options.userId !== undefined && { user_id: String(options.userId) }),
    },
    body: text,
  }).catch((error: Error) => {
    // Each browser has a sentence of its own for this.
    throw new HeraldError(0, 0, error.message)
  })
  return readEnvelope<Data>(response)
}

/** Integers beyond 2^53 travel as text, which the interface takes for every int64. */
function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, field) => (typeof field === 'bigint' ? String(field) : field))
}

async function readEnvelope<Data>(response: Response): Promise<Data> {
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  const envelope = (await response.json().catch(() => undefined)) as
    | { code: number; data: Data; message: string | null }
    | undefined
  if (envelope?.code === 200) return envelope.data
  throw new HeraldError(
    envelope?.code ?? 0,
    response.status,
    envelope?.message ?? `HTTP ${response.status}`,
    Number.isFinite(retryAfter) ? retryAfter : undefined,
  )
}

/** The session is over or never was: the one failure that leads back to signing in. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof HeraldError && error.status === 401
}
