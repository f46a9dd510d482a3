import { lookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { isPublicAddress } from './public-address.ts'

/** An address that may not be called. The message is the second half of a sentence. */
export class CallRefused extends Error {}

export type GuardOptions = {
  mayCall?: (address: string) => boolean
  resolveName?: (host: string) => Promise<string[]>
}

/**
 * Resolves the host of a URL. Every result must be one that may be called. The caller must connect to the returned address, because the
 * name may resolve differently a moment later. Throws CallRefused.
 */
export async function checkAddress(
  host: string,
  { mayCall = isPublicAddress, resolveName = addressesOf }: GuardOptions,
  signal: AbortSignal,
): Promise<string> {
  const bare = host.replace(/^\[|\]$/g, '')
  const addresses = isIP(bare) ? [bare] : await untilAborted(resolveName(bare), signal)
  if (addresses.length === 0 || !addresses.every(mayCall))
    throw new CallRefused('must not point to a private address')
  return addresses[0]!
}

/** The `lookup` of a request that connects to this address, whatever its host. */
export function lookupOf(address: string): LookupFunction {
  const family = isIP(address)
  return (_host, options, done) =>
    options.all ? done(null, [{ address, family }]) : done(null, address, family)
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
