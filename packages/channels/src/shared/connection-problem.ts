/**
 * Says in plain words why a connection failed, with the code of the system or TLS for searches. `message` is read only for causes without
 * a code: the rest of it contains hosts and ports, which must not appear in failure lists.
 */
export function connectionProblem(code: string | undefined, message = ''): string | undefined {
  if (/did not agree to HTTP\/2|no application protocol/i.test(message))
    return 'the server did not agree to HTTP/2'
  const proxyStatus = /\bproxy\b.* refused to connect .*\((\d{3})\)/.exec(message)?.[1]
  if (proxyStatus) return `the proxy refused the connection (${proxyStatus})`
  if (/\bproxy\b/.test(message) && !code) return 'the proxy did not open a connection'
  if (/no HTTP\/2 connection was established within/.test(message))
    return 'no connection within the time limit'
  if (code === undefined) return undefined
  const words = Object.hasOwn(wordsByCode, code) ? wordsByCode[code]! : otherWords(code)
  return `${words} (${code})`
}

/** The code of the system or TLS in an error's message, or the TLS alert of the other side. */
export function codeIn(message: string): string | undefined {
  return /alert [a-z ]+|\b(?:E[A-Z]{4,}|ERR_[A-Z0-9_]+|[A-Z]+_[A-Z_]+)\b/.exec(message)?.[0].trim()
}

const closed = 'the other side closed the connection'
const unresolved = 'the host name could not be resolved'
const noRoute = 'there is no route to the server'
const tooSlow = 'no connection within the time limit'
const untrusted = 'the TLS certificate of the server is not trusted'
const notTls = 'the server does not use TLS on this port'

const wordsByCode: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the server refused the connection',
  ECONNRESET: closed,
  ECONNABORTED: closed,
  EPIPE: closed,
  UND_ERR_SOCKET: closed,
  ENOTFOUND: unresolved,
  EAI_AGAIN: unresolved,
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  ETIMEDOUT: tooSlow,
  UND_ERR_CONNECT_TIMEOUT: tooSlow,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  CERT_HAS_EXPIRED: 'the TLS certificate of the server has expired, or the clock of this server is wrong',
  CERT_NOT_YET_VALID:
    'the TLS certificate of the server is not valid yet, or the clock of this server is wrong',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the TLS certificate is for another host',
  ERR_SSL_WRONG_VERSION_NUMBER: notTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: notTls,
}

function otherWords(code: string): string {
  return /^(alert|ERR_SSL|EPROTO)/.test(code) ? 'the TLS handshake failed' : 'the connection failed'
}
