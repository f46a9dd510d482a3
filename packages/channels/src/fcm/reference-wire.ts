import { Agent, type AgentOptions } from 'node:https'
import { isIP } from 'node:net'
import { rootCertificates } from 'node:tls'
import type { App } from 'firebase-admin/app'
import type { AndroidNotification as AdminNotification, Message } from 'firebase-admin/messaging'
import type { TransportDeps } from '../channel.ts'
import { retryAfterSeconds } from '../shared/http.ts'
import type { FcmMessage } from './payload.ts'
import type { FcmAnswer, OpenFcmWire } from './wire.ts'

/** The host firebase-admin always speaks to. */
const fixedHost = 'fcm.googleapis.com'
const atOnce = 16

let opened = 0

/**
 * The same requests through firebase-admin, as the reference for our own. It repeats 503 by itself up to four times, and it
 * speaks HTTP/1.1 here: its HTTP/2 sessions take neither a proxy nor another host.
 */
export const openReferenceWire: OpenFcmWire = ({ projectId }, deps) => {
  const agent = openAgent(deps)
  const apps = new Map<string, Promise<App>>()
  const closing = new AbortController()

  /** An app caches its access token, so a new token means a new app. */
  function appFor(accessToken: string): Promise<App> {
    let app = apps.get(accessToken)
    if (!app) {
      app = import('firebase-admin/app').then(({ initializeApp }) =>
        initializeApp(
          {
            projectId,
            httpAgent: agent,
            credential: { getAccessToken: async () => ({ access_token: accessToken, expires_in: 3600 }) },
          },
          `herald-${++opened}`,
        ),
      )
      apps.set(accessToken, app)
    }
    return app
  }

  async function deliver(accessToken: string, text: string): Promise<FcmAnswer> {
    const { getMessaging } = await import('firebase-admin/messaging')
    const request = JSON.parse(text) as { validate_only?: boolean; message: FcmMessage }
    try {
      await getMessaging(await appFor(accessToken)).send(adminMessage(request.message), request.validate_only)
      return { status: 200, body: '' }
    } catch (error) {
      const reply = (error as { httpResponse?: { status: number; headers: object; data: unknown } })
        .httpResponse
      if (!reply) throw error
      return {
        status: reply.status,
        body: typeof reply.data === 'string' ? reply.data : JSON.stringify(reply.data),
        retryAfter: retryAfterSeconds(reply.headers as Record<string, string>, deps.now()),
      }
    }
  }

  return {
    async post({ accessToken, count, body, signal: wanted, onReply, onFailure }) {
      const signal = AbortSignal.any([wanted, closing.signal])
      const open = new Set<number>()
      let next = 0
      const worker = async () => {
        while (next < count && !signal.aborted) {
          const at = next++
          open.add(at)
          const text = body.before + body.slot(at) + body.after
          const answer = await within(deps.timeoutMs, deliver(accessToken, text).catch(codeOf))
          if (!open.delete(at)) continue
          if (typeof answer === 'string') onFailure(at, answer)
          else onReply(at, answer)
        }
      }
      const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      await Promise.race([stopped, Promise.all(Array.from({ length: atOnce }, worker))])
      // firebase-admin cannot be stopped in the middle; what it still answers is no longer listened to.
      const left = [...open]
      open.clear()
      while (next < count) left.push(next++)
      for (const at of left) onFailure(at, 'stopped')
    },
    async close() {
      closing.abort()
      const { deleteApp } = await import('firebase-admin/app')
      const open = [...apps.values()]
      apps.clear()
      await Promise.all(open.map(async (app) => deleteApp(await app)))
      agent.destroy()
    },
  }
}

/** firebase-admin has its own time limit of 15 s, which cannot be changed. */
async function within<T>(ms: number, work: Promise<T>): Promise<T | string> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve('timeout'), ms)
  })
  return Promise.race([work, limit]).finally(() => clearTimeout(timer))
}

function codeOf(error: unknown): string {
  return `firebase-admin (${(error as { code?: string }).code ?? 'unknown'})`
}

/** In the words of firebase-admin, which has its own names and counts in milliseconds. */
function adminMessage(message: FcmMessage & { token?: string; topic?: string }): Message {
  const { token, topic, notification, data, android } = message
  const shown = android?.notification
  const adminNotification: AdminNotification | undefined = shown && {
    sound: shown.sound,
    channelId: shown.channel_id,
    imageUrl: shown.image,
    clickAction: shown.click_action,
    tag: shown.tag,
    notificationCount: shown.notification_count,
  }
  const rest = {
    notification,
    data,
    android: android && {
      priority: android.priority === 'HIGH' ? ('high' as const) : ('normal' as const),
      ttl: Number.parseInt(android.ttl, 10) * 1000,
      restrictedPackageName: android.restricted_package_name,
      notification: adminNotification,
    },
  }
  return withoutBlanks(topic === undefined ? { token: token ?? '', ...rest } : { topic, ...rest })
}

/** firebase-admin takes a field that is undefined for a wrong one. */
function withoutBlanks<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

/** Connections to `deps.urls.fcm`, whatever host firebase-admin asks for. */
function openAgent(deps: TransportDeps): Agent {
  const target = new URL(deps.urls.fcm)
  const options: AgentOptions = {
    keepAlive: true,
    maxSockets: atOnce,
    timeout: deps.timeoutMs,
    ...(deps.ca ? { ca: [...rootCertificates, deps.ca] } : {}),
    ...(deps.proxy ? { proxyEnv: { HTTPS_PROXY: deps.proxy } } : {}),
  }
  if (target.hostname === fixedHost) return new Agent(options)
  const elsewhere = {
    host: target.hostname,
    port: Number(target.port || 443),
    servername: isIP(target.hostname) ? '' : target.hostname,
  }
  return new (class extends Agent {
    override createConnection(...[wanted, callback]: Parameters<Agent['createConnection']>) {
      return super.createConnection({ ...wanted, ...elsewhere }, callback)
    }
  })(options)
}
