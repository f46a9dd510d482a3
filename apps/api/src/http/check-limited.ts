import { Failure } from '../codes.ts'
import type { ApiDeps } from '../deps.ts'

/**
 * Checks a credential within the limit of failed checks per address. A check takes a token of the address and returns it if
 * the credential is good; an address without tokens is refused before the check. Checks that are answered from memory are
 * free: a client that repeats an outdated credential does not lock out others behind its address.
 */
export function checkLimited<T>(
  limits: Pick<ApiDeps['limits'], 'refused'>,
  address: string,
  check: Check<T>,
): Promise<T | undefined> {
  return check.isFree ? check.run() : checkWithin(limits, address, check)
}

type Check<T> = {
  /** Costs neither a query nor a signature check. */
  isFree: boolean
  /** The caller has proved that it knows a secret. */
  isExempt?(): boolean
  /** Undefined: the credential is bad. */
  run(): Promise<T | undefined>
}

async function checkWithin<T>(
  { refused }: Pick<ApiDeps['limits'], 'refused'>,
  address: string,
  check: Check<T>,
): Promise<T | undefined> {
  const wait = refused.take(address)
  if (wait > 0) {
    if (!check.isExempt?.())
      throw new Failure(42901, 'Too many calls of this address were refused; try again later.', {
        retryAfter: wait,
      })
    return check.run()
  }
  let isBad = false
  try {
    const found = await check.run()
    isBad = found === undefined
    return found
  } finally {
    if (!isBad) refused.giveBack(address)
  }
}
