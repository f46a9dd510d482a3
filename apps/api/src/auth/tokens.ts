import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import jwt from 'jsonwebtoken'

export type Claims = {
  app: string
  role: 'user' | 'admin'
  /** The user's id; an admin's application. */
  subject: string
  /** Tokens of an older version than the user's, or the application's, are revoked. */
  version: number
}

export type Tokens = {
  /** PEM of the key that verifies what is issued here. */
  publicKey: string
  /** `expire` is in Unix seconds. */
  issue(claims: Claims, now?: number): { token: string; storeToken: string; expire: number }
  /** Undefined: not ours, changed, expired, or not an access token. Says nothing about revocation. */
  verify(token: string): Claims | undefined
}

const ISSUER = 'herald'
const ACCESS = 'access'
const STORE = 'store'
/** A verification costs 0.2 ms, a look into the map nothing. */
const REMEMBERED = 20_000
const DAY = 86_400

export function newTokenKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
}

/** Whoever else may hold the key: only what `issue` could have written is a token. */
function claimsOf({ app, role, sub = '', ver }: jwt.JwtPayload): Claims | undefined {
  const subject = role === 'admin' ? sub === app : role === 'user' && /^\d{1,19}$/.test(sub)
  if (!subject || typeof app !== 'string' || !Number.isSafeInteger(ver)) return undefined
  return { app, role, subject: sub, version: ver }
}

export function createTokens(options: { privateKey: string; days: number }): Tokens {
  const privateKey = createPrivateKey(options.privateKey)
  const publicKey = createPublicKey(privateKey)
  const verified = new Map<string, { claims: Claims; until: number }>()

  function sign({ app, role, subject, version }: Claims, audience: string, iat: number, exp: number): string {
    return jwt.sign({ app, role, ver: version, iat, exp }, privateKey, {
      algorithm: 'ES256',
      issuer: ISSUER,
      audience,
      subject,
    })
  }

  function read(token: string): { claims: Claims; until: number } | undefined {
    try {
      // One key and one algorithm, whatever the token's own header says.
      const payload = jwt.verify(token, publicKey, {
        algorithms: ['ES256'],
        issuer: ISSUER,
        audience: ACCESS,
      }) as jwt.JwtPayload
      const claims = claimsOf(payload)
      return claims && { claims, until: (payload.exp ?? 0) * 1000 }
    } catch {
      return undefined
    }
  }

  return {
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }) as string,
    issue(claims, now = Date.now()) {
      const iat = Math.floor(now / 1000)
      const expire = iat + options.days * DAY
      return {
        token: sign(claims, ACCESS, iat, expire),
        storeToken: sign(claims, STORE, iat, expire),
        expire,
      }
    },
    verify(token) {
      let entry = verified.get(token)
      if (!entry) {
        entry = read(token)
        if (!entry) return undefined
        if (verified.size >= REMEMBERED) verified.delete(verified.keys().next().value!)
        verified.set(token, entry)
      }
      if (entry.until <= Date.now()) {
        verified.delete(token)
        return undefined
      }
      return entry.claims
    },
  }
}
