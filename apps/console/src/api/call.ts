import { fromExactJson, HeraldError, toExactJson } from '@herald/client'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

export type Call = {
  /** An operator may name any application, an application only itself. */
  appId?: string
  body?: unknown
  /** A body that is sent as it is: JSON whose large numbers parsing would round. */
  text?: string
  signal?: AbortSignal
}

/** The calls that read, open and end a session. */
export const SESSION_PATH = '/console/session'

/** Of all other calls; aborted from a sign-out until the next sign-in. */
let pageCalls = new AbortController()

/** Ends the calls in progress and refuses further ones: without the session the API would answer them with 401. */
export const stopPageCalls = () => pageCalls.abort()

export function allowPageCalls(): void {
  if (pageCalls.signal.aborted) pageCalls = new AbortController()
}

/** Sends the session cookie. Resolves with `data`, or rejects with the API's code and message. */
export async function call<Data>(method: Method, path: string, options: Call = {}): Promise<Data> {
  return readEnvelope<Data>(await send(method, path, options))
}

/** Resolves with a body that is not an envelope, or rejects with the API's code and message. */
export async function stream(path: string, options: Call): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const response = await send('GET', path, options)
  if (response.ok && response.body) return response.body
  return readEnvelope(response)
}

async function send(method: Method, path: string, options: Call): Promise<Response> {
  const text = options.text ?? (options.body === undefined ? undefined : toExactJson(options.body))
  const signals = [path === SESSION_PATH ? undefined : pageCalls.signal, options.signal]
  return fetch(path, {
    method,
    signal: AbortSignal.any(signals.filter((signal) => signal !== undefined)),
    credentials: 'same-origin',
    headers: {
      'x-herald-console': '1',
      ...(text !== undefined && { 'content-type': 'application/json' }),
      ...(options.appId !== undefined && { app_id: options.appId }),
    },
    body: text,
  }).catch((error: Error) => {
    // The message differs by browser; code and status 0 mark a request without a response.
    throw new HeraldError(0, 0, error.message)
  })
}

type Envelope<Data> = { code: number; data: Data; message: string | null }

async function readEnvelope<Data>(response: Response): Promise<Data> {
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  const envelope = (await readJson(response)) as Envelope<Data> | undefined
  if (envelope?.code === 200) return envelope.data
  throw new HeraldError(
    envelope?.code ?? 0,
    response.status,
    envelope?.message ?? `HTTP ${response.status}`,
    Number.isFinite(retryAfter) ? retryAfter : undefined,
  )
}

/** Undefined: the body is not JSON, or its end is missing. */
async function readJson(response: Response): Promise<unknown> {
  try {
    return fromExactJson(await response.text())
  } catch {
    return undefined
  }
}

/** Whether Herald refused the request itself, so that the same request would be refused again. */
export function isRefused(error: unknown): boolean {
  return error instanceof HeraldError && error.status >= 400 && error.status < 500
}

/** The only error that shows the sign-in page. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof HeraldError && error.status === 401
}
