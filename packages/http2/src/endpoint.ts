import { BlockList, isIP } from 'node:net'
import type { SecureContextOptions } from 'node:tls'

export type TlsOptions = Pick<
  SecureContextOptions,
  'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'minVersion'
> & {
  servername?: string
  rejectUnauthorized?: boolean
}

/** Where to connect, parsed from the pool's options. */
export type Endpoint = {
  readonly secure: boolean
  readonly host: string
  readonly port: number
  readonly scheme: 'http' | 'https'
  /** Value of `:authority`: without the port if it is the scheme's default. */
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
    throw new TypeError(`the origin ${JSON.stringify(origin)} must consist of scheme, host and port only`)
  }
  return {
    ...place(url),
    scheme: url.protocol === 'https:' ? 'https' : 'http',
    authority: url.host,
    proxy: readProxy(proxyFor(url, proxy)),
  }
}

/** The proxy for calls to this address: none to this machine, which a proxy on another machine would take for itself. */
export function proxyFor(address: URL, proxy: string | undefined): string | undefined {
  const isBypassed = proxy && isLoopback(address) && !isLoopback(parse(proxy, 'proxy'))
  return isBypassed ? undefined : proxy
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

function isLoopback(url: URL): boolean {
  const { host } = place(url)
  const version = isIP(host)
  if (version === 0) return host === 'localhost' || host.endsWith('.localhost')
  return loopback.check(host, version === 6 ? 'ipv6' : 'ipv4')
}

function readProxy(proxy: string | undefined): ProxyEndpoint | undefined {
  if (proxy === undefined || proxy === '') return undefined
  const url = parse(proxy, 'proxy')
  if (url.username === '') return place(url)
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  return { ...place(url), authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
}

function parse(text: string, what: string): URL {
  // The text may contain a password, so the message does not repeat it.
  if (!URL.canParse(text)) throw new TypeError(`the ${what} is not a valid URL`)
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new TypeError(`the ${what} must start with https:// or http://, not ${url.protocol}`)
  }
  return url
}

function place(url: URL): { secure: boolean; host: string; port: number } {
  const secure = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return { secure, host, port: url.port === '' ? (secure ? 443 : 80) : Number(url.port) }
}
