import { type ServerResponse, STATUS_CODES } from 'node:http'
import { toJson } from '@herald/domain'
import { type Code, type Failure, statusOf } from '../codes.ts'
import { respond } from './common-headers.ts'

export function sendData(response: ServerResponse, data: unknown): void {
  send(response, 200, { code: 200, data, message: null })
}

export function sendFailure(response: ServerResponse, failure: Failure): void {
  if (failure.retryAfter !== undefined) response.setHeader('retry-after', String(failure.retryAfter))
  send(response, statusOf(failure.code), { code: failure.code, data: null, message: failure.message })
}

/** The bytes of a failure for a socket whose request could not be parsed. */
export function rawFailure(code: Code, message: string): string {
  const body = toJson({ code, data: null, message })
  const status = statusOf(code)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

const headers = ['content-type', 'application/json; charset=utf-8', 'cache-control', 'no-store']

function send(response: ServerResponse, status: number, envelope: object): void {
  if (response.headersSent || response.destroyed) return
  respond(response, status, headers, toJson(envelope))
}
