import { createSecureContext, type SecureContext } from 'node:tls'
import type { TlsOptions } from './endpoint.ts'

const contexts = new WeakMap<TlsOptions, SecureContext>()
const usualTrust: TlsOptions = {}
const trusts = new WeakMap<object, TlsOptions>()

/**
 * One context for all connections with the same options object. With a list of all root authorities a context takes 7 ms of CPU time
 * and 0.9 MB, more than the connection itself.
 */
export function secureContextOf(tls: TlsOptions): SecureContext {
  let context = contexts.get(tls)
  if (!context) {
    const { servername: _name, rejectUnauthorized: _checks, ...rest } = tls
    context = createSecureContext({ ...rest, minVersion: tls.minVersion ?? 'TLSv1.2' })
    contexts.set(tls, context)
  }
  return context
}

/** The authorities of these options without their credential, for a proxy. The same object for the same list of authorities. */
export function trustOf({ ca }: TlsOptions): TlsOptions {
  if (ca === undefined) return usualTrust
  if (typeof ca === 'string') return { ca }
  let trust = trusts.get(ca)
  if (!trust) {
    trust = { ca }
    trusts.set(ca, trust)
  }
  return trust
}
