import { argon2, createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { createFairQueue } from '@herald/async'
import { Failure } from '../codes.ts'

/** Memory in KiB and passes: of OWASP's equivalent settings, the one with the least memory traffic. */
type Cost = { memory: number; passes: number }
const cost: Cost = { memory: 7_168, passes: 5 }
const TAG_LENGTH = 32

export type Derive = (password: string, salt: Buffer, cost: Cost) => Promise<Buffer>

export type Passwords = {
  hash(password: string): Promise<string>
  /**
   * Runs `attempt` when it is its turn. Hashing occupies a core and 7 MiB for tens of milliseconds, so few run at once, the applications
   * in turn, and those of a login one after another; when too many wait, the attempt is refused. Those with an admin token wait apart from
   * others, so that a flood of anonymous logins does not keep them out.
   */
  inTurn<T>(
    of: { appId: string; login?: string; isAdminToken?: boolean },
    attempt: () => Promise<T>,
  ): Promise<T>
  /** Takes the same time whether or not there is a stored hash; false without one. */
  verify(password: string, stored: string | null | undefined): Promise<boolean>
}

const argon2Async = promisify(argon2)

const deriveWithArgon2id: Derive = (password, salt, { memory, passes }) =>
  argon2Async('argon2id', {
    message: password.normalize('NFC'),
    nonce: salt,
    parallelism: 1,
    tagLength: TAG_LENGTH,
    memory,
    passes,
  })

type Waiting = PromiseWithResolvers<void> & { list: string; login?: string }

/** `maxWaiting` is that of each of an application's two lists. */
export function createPasswords(
  options: { derive?: Derive; atOnce?: number; maxWaiting?: number } = {},
): Passwords {
  const { derive = deriveWithArgon2id, atOnce = availableParallelism(), maxWaiting = 500 } = options
  const waiting = createFairQueue<Waiting>({ perKey: maxWaiting, all: 4 * maxWaiting })
  /** Those with an attempt in progress: their next one is passed over. */
  const busyLogins = new Set<string>()
  let running = 0
  const decoy = { salt: randomBytes(16), cost }

  function startNext(): void {
    const passed: Waiting[] = []
    while (running < atOnce && waiting.size() > 0) {
      const [next] = waiting.take(1)
      const { login } = next!
      if (login !== undefined && busyLogins.has(login)) {
        passed.push(next!)
        continue
      }
      if (login !== undefined) busyLogins.add(login)
      running++
      next!.resolve()
    }
    for (const one of passed) waiting.add(one.list, one)
  }

  return {
    async hash(password) {
      const salt = randomBytes(16)
      return format(salt, await derive(password, salt, cost))
    },
    async inTurn({ appId, login: name, isAdminToken = false }, attempt) {
      const login = name === undefined ? undefined : `${appId}/${name}`
      const list = `${isAdminToken}/${appId}`
      const turn: Waiting = { ...Promise.withResolvers<void>(), list, login }
      const refused = waiting.add(list, turn)
      refused?.reject(
        new Failure(42901, 'Too many logins are waiting; try again in a moment.', { retryAfter: 2 }),
      )
      startNext()
      await turn.promise
      try {
        return await attempt()
      } finally {
        running--
        if (login !== undefined) busyLogins.delete(login)
        startNext()
      }
    },
    async verify(password, stored) {
      const known = stored == null ? undefined : parse(stored)
      const { salt, cost: paid } = known ?? decoy
      const derived = await derive(password, salt, paid)
      return known !== undefined && timingSafeEqual(derived, known.tag)
    },
  }
}

function format(salt: Buffer, tag: Buffer): string {
  const { memory, passes } = cost
  return `$argon2id$v=19$m=${memory},t=${passes},p=1$${base64(salt)}$${base64(tag)}`
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}

const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=1\$([\w+/]+)\$([\w+/]+)$/

function parse(stored: string): { salt: Buffer; tag: Buffer; cost: Cost } {
  const [, memory, passes, salt, tag] = PHC.exec(stored) ?? []
  if (!salt || !tag) throw new Error('A stored password hash has an unknown format')
  return {
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
    cost: { memory: Number(memory), passes: Number(passes) },
  }
}

/** Compares hashes, so that the time reveals neither the length nor a common prefix. */
export function isSameSecret(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}
