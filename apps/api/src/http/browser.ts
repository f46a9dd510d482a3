import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { SESSION_SECONDS } from '../auth/console-sessions.ts'
import type { ApiDeps } from '../deps.ts'
import type { Browser } from '../route.ts'

const COOKIE = 'herald_session'
const SENT = new RegExp(`(?:^|;)\\s*${COOKIE}=([^;\\s]*)`)

type Wire = Pick<ApiDeps, 'trustedProxies' | 'publicUrl'>

export function browserOf(wire: Wire, request: IncomingMessage, response: ServerResponse): Browser {
  return {
    key: sessionKeyOf(request),
    setCookie(value) {
      // Strict: browsers send it with no request caused by another site, not even with a click on a link.
      const parts = [`${COOKIE}=${value}`, 'Path=/', 'HttpOnly', 'SameSite=Strict']
      parts.push(`Max-Age=${value === '' ? 0 : SESSION_SECONDS}`)
      if (isSecure(wire, request)) parts.push('Secure')
      response.setHeader('set-cookie', parts.join('; '))
    },
  }
}

export function sessionKeyOf({ headers }: IncomingMessage): string | undefined {
  return headers.cookie === undefined ? undefined : SENT.exec(headers.cookie)?.[1] || undefined
}

/** Returns whether the request came over TLS, to this process or to the proxy in front of it. */
function isSecure({ trustedProxies, publicUrl }: Wire, { socket, headers }: IncomingMessage): boolean {
  if ((socket as TLSSocket).encrypted || publicUrl?.startsWith('https:')) return true
  return trustedProxies > 0 && /(?:^|,)\s*https\s*$/.test(String(headers['x-forwarded-proto'] ?? ''))
}
