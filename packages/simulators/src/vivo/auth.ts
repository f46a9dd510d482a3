import { createHash, randomUUID } from 'node:crypto'
import type { RateMeter } from '../frame/rate.ts'

export type VivoCredential = { appId: number | string; appKey: string; appSecret: string }

const dayMs = 86_400_000
const tenMinutesMs = 600_000

type VivoAuth = {
  /** Returns a token, or the code of the refusal. */
  admit(body: Record<string, unknown>): { authToken: string } | { result: number }
  /** The app of a token; undefined if it is unknown or expired. */
  appOf(authToken: string | undefined): string | undefined
  /** Expires all tokens issued so far. */
  expireAll(): void
}

export function openVivoAuth(options: {
  credentials: readonly VivoCredential[]
  acceptAny: boolean
  meter: RateMeter
  now(): number
}): VivoAuth {
  const apps = new Map(options.credentials.map((one) => [String(one.appId), one]))
  const tokens = new Map<string, { app: string; until: number }>()

  function admit(body: Record<string, unknown>): { authToken: string } | { result: number } {
    const { appId, appKey, timestamp, sign } = body
    if (!isText(appId)) return { result: 10200 }
    if (!isText(appKey)) return { result: 10201 }
    if (!isText(timestamp)) return { result: 10203 }
    if (!isText(sign)) return { result: 10204 }
    const app = String(appId)
    if (!options.meter.take(app, 1)) return { result: 10093 }
    if (!/^\d{13}$/.test(String(timestamp))) return { result: 10207 }
    if (Math.abs(Number(timestamp) - options.now()) > tenMinutesMs) return { result: 10207 }
    const known = apps.get(app)
    if (known || !options.acceptAny) {
      if (!known) return { result: 10205 }
      if (known.appKey !== appKey) return { result: 10202 }
      if (signOf(app, known, String(timestamp)) !== sign) return { result: 10206 }
    }
    const authToken = randomUUID()
    tokens.set(authToken, { app, until: options.now() + dayMs })
    return { authToken }
  }

  return {
    admit,
    appOf(authToken) {
      const issued = authToken === undefined ? undefined : tokens.get(authToken)
      return issued && options.now() < issued.until ? issued.app : undefined
    },
    expireAll: () => tokens.clear(),
  }
}

function signOf(app: string, { appKey, appSecret }: VivoCredential, timestamp: string): string {
  return createHash('md5').update(`${app}${appKey}${timestamp}${appSecret}`).digest('hex')
}

/** vivo accepts the appId as a number and as a string of digits. */
function isText(value: unknown): value is string | number {
  return (typeof value === 'string' && value.trim() !== '') || typeof value === 'number'
}
