import { createHash, randomBytes } from 'node:crypto'
import type { Faults } from '../simulator.ts'
import { type OppoSimApp, type Refusal, refusal } from './rules.ts'

type IssuedToken = { auth_token: string; create_time: number }

type TokenIssuer<App> = {
  issue(form: URLSearchParams, faults: Readonly<Faults>): IssuedToken | Refusal
  /** Returns the application of a token, or the refusal. */
  admit(token: string | undefined, faults: Readonly<Faults>): App | Refusal
}

type Session<App> = { app: App; until: number; issuedWhileExpiring: boolean }

const tenMinutesMs = 600_000
/** Maximum number of tokens, for clients that authenticate before every call; older ones are dropped. */
const maxSessions = 1000

/** SHA-256 over key, time and Master Secret (https://open.oppomobile.com/new/developmentDoc/info?id=11234). */
const signatureOf = (appKey: string, timestamp: string, masterSecret: string) =>
  createHash('sha256')
    .update(appKey + timestamp + masterSecret)
    .digest('hex')

/** Issues auth tokens for signed requests and checks them. */
export function openTokenIssuer<App extends { app: OppoSimApp }>(options: {
  find(appKey: string): App | undefined
  /** Skips the check of the signature, for load tests. */
  acceptAnySignature: boolean
  tokenLifeMs: number
  /** A new token invalidates the previous one, as one source claims. */
  newTokenVoidsOld: boolean
}): TokenIssuer<App> {
  const sessions = new Map<string, Session<App>>()

  function check(form: URLSearchParams, faults: Readonly<Faults>): App | Refusal {
    const appKey = form.get('app_key')
    const timestamp = form.get('timestamp')
    const sign = form.get('sign')
    if (!appKey) return refusal(15)
    if (!timestamp) return refusal(18)
    if (!sign) return refusal(17)
    const app = options.find(appKey)
    if (!app) return refusal(14)
    if (!/^\d{13}$/.test(timestamp) || Math.abs(Date.now() - Number(timestamp)) > tenMinutesMs)
      return refusal(19)
    const { masterSecret } = app.app
    const isSigned = masterSecret === undefined || sign === signatureOf(appKey, timestamp, masterSecret)
    return faults.refuseAuth || !(isSigned || options.acceptAnySignature) ? refusal(16) : app
  }

  return {
    issue(form, faults) {
      const app = check(form, faults)
      if ('code' in app) return app
      if (options.newTokenVoidsOld)
        for (const [token, session] of sessions) if (session.app === app) sessions.delete(token)
      if (sessions.size >= maxSessions) sessions.delete(sessions.keys().next().value!)
      const token = randomBytes(12).toString('hex')
      const now = Date.now()
      sessions.set(token, {
        app,
        until: now + options.tokenLifeMs,
        issuedWhileExpiring: faults.expireAuth === true,
      })
      return { auth_token: token, create_time: now }
    },
    admit(token, faults) {
      if (!token) return refusal(29)
      const session = sessions.get(token)
      const isExpired = faults.expireAuth && !session?.issuedWhileExpiring
      if (!session || isExpired || faults.refuseAuth || Date.now() >= session.until) return refusal(11)
      return session.app
    },
  }
}
