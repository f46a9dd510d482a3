import { rootCertificates } from 'node:tls'
import type { TlsOptions } from '@herald/http2'

const withoutOwn: TlsOptions = {}
const byAuthority = new Map<string, TlsOptions>()

/**
 * The authorities that calls to vendors trust: the usual ones, and that of the settings if there is one. The same object for the same
 * authority, so that all connections share one context (secureContextOf).
 */
export function vendorTls(ca: string | undefined): TlsOptions {
  if (!ca) return withoutOwn
  let tls = byAuthority.get(ca)
  if (!tls) {
    tls = { ca: [...rootCertificates, ca] }
    byAuthority.set(ca, tls)
  }
  return tls
}
