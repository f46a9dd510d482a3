import type { ServerResponse } from 'node:http'
import { type Code, type Failure, statusOf } from '../codes.ts'

const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON

/** JSON in which a bigint is a number with all its digits. */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    // Most answers have no bigint, and a replacer makes stringify several times slower.
    if (!(error instanceof TypeError)) throw error
    return JSON.stringify(value, (_key, field) =>
      typeof field === 'bigint' ? rawJson(String(field)) : field,
    )
  }
}

export function sendData(response: ServerResponse, data: unknown): void {
  send(response, 200, { code: 200, data, message: null })
}

export function sendFailure(response: ServerResponse, failure: Failure): void {
  if (failure.retryAfter !== undefined) response.setHeader('retry-after', String(failure.retryAfter))
  send(response, statusOf(failure.code), { code: failure.code, data: null, message: failure.message })
}

/** The same for what never became a request: there is only a socket to write to. */
export function rawFailure(code: Code, message: string): string {
  const body = toJson({ code, data: null, message })
  const status = statusOf(code)
  return `HTTP/1.1 ${status} ${status === 431 ? 'Request Header Fields Too Large' : 'Bad Request'}\r\nconnection: close\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

function send(response: ServerResponse, status: number, envelope: object): void {
  if (response.headersSent || response.destroyed) return
  // As a string: Node then writes head and body in one call instead of two.
  const body = toJson(envelope)
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
  })
  response.end(body)
}
