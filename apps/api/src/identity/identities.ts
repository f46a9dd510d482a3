import { shareReads, sleep } from '@herald/async'
import type { Database } from '@herald/db/store'
import { claimKeyRead, endKeyRead, findIdentity, type Identity } from '@herald/db/tenants'
import type { Logger } from '@herald/telemetry'
import { isSignedBy, keysFor, MAX_TRIED, readToken, TokenProblem, usernameIn } from './id-token.ts'
import { KEY_READ_MS, type KeySetReader } from './key-set-reader.ts'
import { KeyProblem, readPublicKey, usableKey, type VerificationKey } from './verification-keys.ts'

/** Checks tokens of applications' own sign-in. */
export type Identities = {
  /** Returns the name of the user. Throws TokenProblem. */
  usernameIn(appId: string, idToken: string): Promise<string>
  /** To be called after a change of the settings; other processes notice within a second. */
  forget(appId: string): void
  readKeys: KeySetReader
}

/** Seconds between two reads of an application's keys, by all processes together: tokens with invented kids must not flood the issuer. */
const FLOOR = 30
/** Keys older than this many seconds are read again at the next use, so that a key which the issuer has withdrawn ends. */
const MAX_AGE = 3600
/** The same floor while the issuer is down: a read makes the logins of that moment wait. */
const STALE_FLOOR = 300
const FRESH_MS = 1000
const POLL_MS = 100

type Known = Identity & { keys: VerificationKey[] }

export function createIdentities(deps: { db: Database; log: Logger; readKeys: KeySetReader }): Identities {
  const { db, log, readKeys } = deps
  const identities = shareReads<string, Known | undefined>({
    async read(appId, previous) {
      const found = await findIdentity(db, appId)
      if (!found) return undefined
      const keys = previous?.stamp === found.stamp ? previous.keys : keysOf(found)
      return { ...found, keys }
    },
    maxAgeMs: FRESH_MS,
  })
  /** One per application, so that logins that arrive together share it. */
  const reading = new Map<string, Promise<void>>()

  /** Reads the keys again, or waits for another process that does; returns at once if a read is not due. */
  function refresh(appId: string, jwksUrl: string, floor: number): Promise<void> {
    const running = reading.get(appId)
    if (running) return running
    const started = readAgain(appId, jwksUrl, floor).finally(() => {
      reading.delete(appId)
      identities.forget(appId)
    })
    reading.set(appId, started)
    return started
  }

  async function readAgain(appId: string, jwksUrl: string, floor: number): Promise<void> {
    if (!(await claimKeyRead(db, appId, jwksUrl, floor))) return waitForOther(appId)
    let keys: Identity['keySet'] | undefined
    try {
      keys = await readKeys(jwksUrl)
    } catch (error) {
      if (!(error instanceof KeyProblem)) throw error
      log.warn(
        { app: appId, problem: error.message },
        'could not read the keys of an application’s sign-in; its former keys stay',
      )
    }
    await endKeyRead(db, appId, jwksUrl, keys)
  }

  async function waitForOther(appId: string): Promise<void> {
    for (let waited = 0; waited < KEY_READ_MS; waited += POLL_MS) {
      const found = await findIdentity(db, appId)
      if (!found || !isBeingRead(found)) return
      await sleep(POLL_MS)
    }
  }

  async function known(appId: string): Promise<Known> {
    const found = await identities.get(appId)
    if (!found) throw new TokenProblem('cannot be checked: the application has no identity settings')
    return found
  }

  return {
    async usernameIn(appId, idToken) {
      const token = readToken(idToken)
      let identity = await known(appId)
      const refreshed = async (floor: number) => {
        if (identity.jwksUrl === undefined) return
        await refresh(appId, identity.jwksUrl, floor)
        identity = await known(appId)
      }
      if (identity.readAge !== null && identity.readAge > MAX_AGE && isOlder(identity.askedAge, STALE_FLOOR))
        await refreshed(STALE_FLOOR)
      const check = () => {
        const keys = keysFor(token, identity.keys)
        return { count: keys.length, isSigned: isSignedBy(token, keys) }
      }
      let found = check()
      // A token without a kid is tried with all keys; if none fits, the issuer may have a new one.
      const isKnown = token.kid === undefined ? found.isSigned : found.count > 0
      if (!isKnown && (isOlder(identity.askedAge, FLOOR) || isBeingRead(identity))) {
        const before = identity
        await refreshed(FLOOR)
        if (identity !== before) found = check()
      }
      if (found.count === 0)
        throw new TokenProblem(
          identity.publicKey === undefined
            ? 'is signed with a key that the issuer does not have (kid and algorithm)'
            : 'has another algorithm than the public key of the identity settings',
        )
      if (!found.isSigned)
        throw new TokenProblem(
          found.count > MAX_TRIED
            ? `matches ${found.count} keys of the issuer, of which the first ${MAX_TRIED} were tried: give each key its own kid, and tokens the kid of their key`
            : 'has a wrong signature',
        )
      return usernameIn(token, identity, Date.now() / 1000)
    },
    forget: identities.forget,
    readKeys,
  }
}

function keysOf({ publicKey, keySet }: Identity): VerificationKey[] {
  if (publicKey !== undefined) return [readPublicKey(publicKey).key]
  return keySet.flatMap((stored) => usableKey(stored) ?? [])
}

const isOlder = (age: number | null, seconds: number) => age === null || age >= seconds

/** A process that died while it read the keys is not waited for. */
function isBeingRead({ askedAge, unfinished }: Identity): boolean {
  return unfinished && !isOlder(askedAge, KEY_READ_MS / 1000)
}
