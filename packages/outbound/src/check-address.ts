import { lookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { isPublicAddress } from './public-address.ts'

/** An address that may not be called. The message is the second half of a sentence. */
export class CallRefused extends Error {}

const ATTEMPT_MS = 1_000

export type GuardOptions = {
  mayCall?: (address: string) => boolean
  resolveName?: (host: string) => Promise<string[]>
}

/**
 * Resolves the host of a URL. Every result must be one that may be called. The caller must connect to one of the returned addresses, because
 * the name may resolve differently a moment later. Throws CallRefused.
 */
export async function checkAddress(
  host: string,
  { mayCall = isPublicAddress, resolveName = addressesOf }: GuardOptions,
  signal: AbortSignal,
): Promise<string[]> {
  const bare = host.replace(/^\[|\]$/g, '')
  const addresses = isIP(bare) ? [bare] : await untilAborted(resolveName(bare), signal)
  if (addresses.length === 0 || !addresses.every(mayCall))
    throw new CallRefused('must not point to a private address')
  return addresses
}

/**
 * The options of a request that connects to these addresses, whatever its host. Node tries them in turn: one of them may lead nowhere, as that
 * of IPv6 often does. By default it gives up an attempt after 250 ms, which a distant server may need to accept a connection.
 */
export function connectTo(addresses: readonly string[]) {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  const lookup: LookupFunction = (_host, options, done) =>
    options.all ? done(null, found) : done(null, found[0]!.address, found[0]!.family)
  return { lookup, autoSelectFamily: true, autoSelectFamilyAttemptTimeout: ATTEMPT_MS }
}

async function addressesOf(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address)
}

/** A resolver may take longer than the whole call is allowed to. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  let onAbort = () => {}
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
    // It may still fail after the race.
    work.catch(() => {})
  }
}
