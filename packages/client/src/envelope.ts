import { fromExactJson } from './exact-json.ts'
import { HeraldError } from './herald-error.ts'

/** Returns `data` of a response; throws a HeraldError unless it is a success. */
export async function readEnvelope(response: Response): Promise<unknown> {
  const text = await response.text()
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  const wait = Number.isFinite(retryAfter) ? retryAfter : undefined
  let envelope: { code?: unknown; data?: unknown; message?: unknown }
  try {
    envelope = fromExactJson(text) as typeof envelope
  } catch {
    throw new HeraldError(
      0,
      response.status,
      `Not a response of Herald: HTTP status ${response.status}.`,
      wait,
    )
  }
  if (envelope?.code === 200) return envelope.data
  throw new HeraldError(
    typeof envelope?.code === 'number' ? envelope.code : 0,
    response.status,
    typeof envelope?.message === 'string' ? envelope.message : `HTTP status ${response.status}.`,
    wait,
  )
}
