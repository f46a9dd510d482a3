import type { IncomingMessage } from 'node:http'
import { Failure } from '../codes.ts'
import { quoted } from '../input/input-failure.ts'
import { sizeText } from '../route.ts'
import type { BodyShare } from './body-budget.ts'

const BODY_MS = 30_000
/** Bytes of a too large body that are read and discarded: most clients read the answer only after sending everything. */
const DISCARDED_BYTES = 16 * 1024 * 1024
const DISCARDING_MS = 5_000

/** Reads the whole body, within a limit of bytes and time. */
export async function readBody(
  request: IncomingMessage,
  limit: number,
  { withinMs = BODY_MS, share }: { withinMs?: number; share?: Pick<BodyShare, 'hold'> } = {},
): Promise<Buffer> {
  const tooLarge = () => new Failure(41301, `The body is larger than ${sizeText(limit)}.`)
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > limit + DISCARDED_BYTES) throw tooLarge()
  const incomplete = () => new Failure(40001, 'The body ended before it was complete.')
  // The caller hung up during authentication: no further event will come.
  if (request.destroyed && !request.readableEnded) throw incomplete()
  const chunks: Buffer[] = []
  let size = 0
  return new Promise((resolve, reject) => {
    let timer = setTimeout(() => settle(new Failure(40801, 'The body did not arrive in time.')), withinMs)
    const onData = (chunk: Buffer) => {
      const before = size
      size += chunk.length
      if (size <= limit) {
        try {
          share?.hold(size)
        } catch (error) {
          chunks.length = 0
          return settle(error as Failure)
        }
        chunks.push(chunk)
      } else if (size > limit + DISCARDED_BYTES) settle(tooLarge())
      else if (before <= limit) {
        chunks.length = 0
        share?.hold(0)
        clearTimeout(timer)
        timer = setTimeout(() => settle(tooLarge()), DISCARDING_MS)
      }
    }
    const onEnd = () => settle(size > limit ? tooLarge() : undefined)
    const onError = () => settle(incomplete())
    function settle(failure: Failure | undefined) {
      clearTimeout(timer)
      request.off('data', onData).off('end', onEnd).off('error', onError).off('aborted', onError)
      if (failure) {
        // The connection may still break; without a listener that error would be uncaught.
        request.on('error', () => {})
        reject(failure)
      } else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size))
    }
    request.on('data', onData).on('end', onEnd).on('error', onError).on('aborted', onError)
  })
}

/** Bodies are not decompressed: a few bytes could become gigabytes. */
export function refuseEncoding(request: IncomingMessage): void {
  const encoding = request.headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity')
    throw new Failure(
      40001,
      `The body must not be encoded with ${quoted(encoding)}: send it without the header content-encoding.`,
    )
}

/** The content type must be JSON or absent, so that a form on another site cannot make a call. */
export function checkJsonType(request: IncomingMessage): void {
  refuseEncoding(request)
  const type = request.headers['content-type']
  if (type === undefined) return
  const [essence = '', ...parameters] = type.toLowerCase().split(';')
  if (!/^application\/(json|[\w.-]+\+json)$/.test(essence.trim()))
    throw new Failure(40001, 'The body must be JSON: send the header content-type: application/json.')
  const charset = parameters.map((part) => part.trim()).find((part) => part.startsWith('charset='))
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset))
    throw new Failure(40001, 'The body must be UTF-8.')
}
