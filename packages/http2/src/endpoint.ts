import type { SecureContextOptions } from 'node:tls'

export type TlsOptions = Pick<
  SecureContextOptions,
  'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'minVersion'
> & {
  servername?: string
  rejectUnauthorized?: boolean
}

/** Where to connect, read once from the pool's options. */
export type Endpoint = {
  readonly secure: boolean
  readonly host: string
  readonly port: number
  readonly scheme: 'http' | 'https'
  /** As in `:authority`: the port only when it is not the scheme's own. */
  readonly authority: string
  readonly proxy?: ProxyEndpoint
}

export type ProxyEndpoint = {
  readonly secure: boolean
  readonly host: string
  readonly port: number
  /** Value of the proxy-authorization header. */
  readonly authorization?: string
}

export function readEndpoint(origin: string, proxy?: string): Endpoint {
  const url = parse(origin, 'origin')
  if (url.pathname !== '/' || url.search !== '' || url.username !== '') {
    throw new TypeError(`the origin ${JSON.stringify(origin)} must be scheme, host and port alone`)
  }
  return {
    ...place(url),
    scheme: url.protocol === 'https:' ? 'https' : 'http',
    authority: url.host,
    proxy: readProxy(proxy),
  }
}

function readProxy(proxy: string | undefined): ProxyEndpoint | undefined {
  if (proxy === undefined || proxy === '') return undefined
  const url = parse(proxy, 'proxy')
  if (url.username === '') return place(url)
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  return { ...place(url), authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
}

function parse(text: string, what: string): URL {
  // The text may hold a password, so it is not repeated in the message.
  if (!URL.canParse(text)) throw new TypeError(`the ${what} is no URL`)
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new TypeError(`the ${what} must begin with https:// or http://, not ${url.protocol}`)
  }
  return url
}

function place(url: URL): { secure: boolean; host: string; port: number } {
  const secure = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return { secure, host, port: url.port === '' ? (secure ? 443 : 80) : Number(url.port) }
}
