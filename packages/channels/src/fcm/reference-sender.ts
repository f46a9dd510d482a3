import { Agent, type AgentOptions } from 'node:https'
import { isIP } from 'node:net'
import { rootCertificates } from 'node:tls'
import { eachConcurrently, within } from '@herald/async'
import { ownReasons, type Reason } from '@herald/domain'
import { type App, deleteApp, initializeApp } from 'firebase-admin/app'
import {
  type AndroidNotification as AdminNotification,
  getMessaging,
  type Message,
} from 'firebase-admin/messaging'
import type { TransportDeps } from '../channel.ts'
import { retryAfterSeconds } from '../shared/http.ts'
import type { FcmReply } from './classify.ts'
import type { FcmIosMessage, FcmMessage } from './payload.ts'
import type { OpenFcmSender } from './sender.ts'

/** The host that firebase-admin always connects to. */
const fixedHost = 'fcm.googleapis.com'
const maxConcurrent = 16

let apps = 0

/**
 * Sends the same requests through firebase-admin, to compare it with our own client. It retries 503 up to four times itself. It
 * uses HTTP/1.1 here: its HTTP/2 sessions support neither a proxy nor another host.
 */
export const openReferenceSender: OpenFcmSender = ({ projectId }, deps) => {
  const agent = openAgent(deps)
  const appByToken = new Map<string, App>()
  const closing = new AbortController()

  /** An app caches its access token, so a new token needs a new app. */
  function appFor(accessToken: string): App {
    let app = appByToken.get(accessToken)
    if (!app) {
      const credential = { getAccessToken: async () => ({ access_token: accessToken, expires_in: 3600 }) }
      app = initializeApp({ projectId, httpAgent: agent, credential }, `herald-${++apps}`)
      appByToken.set(accessToken, app)
    }
    return app
  }

  async function deliver(accessToken: string, text: string): Promise<FcmReply> {
    const request = JSON.parse(text) as { validate_only?: boolean; message: FcmMessage }
    try {
      const messaging = getMessaging(appFor(accessToken))
      const name = await messaging.send(adminMessage(request.message), request.validate_only)
      return { status: 200, body: JSON.stringify({ name }) }
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
    async post({ accessToken, count, body, signal: callerSignal, stopSending, onReply, onFailure }) {
      const signal = AbortSignal.any([callerSignal, closing.signal])
      const pending = new Set(Array(count).keys())
      const sent = eachConcurrently([...pending], maxConcurrent, async (at) => {
        if (signal.aborted || stopSending.aborted) return
        const text = body.before + body.slot(at) + body.after
        // firebase-admin has a time limit of 15 s, which cannot be changed.
        const reply = await within<FcmReply | Reason>(
          deliver(accessToken, text).catch(reasonOf),
          deps.timeoutMs,
          () => ownReasons.vendor_timeout('timeout'),
        )
        if (!pending.delete(at)) return
        if ('code' in reply) onFailure(at, reply)
        else onReply(at, reply)
      })
      const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      await Promise.race([stopped, sent])
      // A request of firebase-admin cannot be stopped; later replies are ignored.
      const left = [...pending]
      pending.clear()
      for (const at of left) onFailure(at, ownReasons.vendor_unreachable('stopped'))
    },
    // Each transport of this client has connections of its own, which a refusal closes.
    renew() {},
    async close() {
      closing.abort()
      await Promise.all([...appByToken.values()].map((app) => deleteApp(app)))
      appByToken.clear()
      agent.destroy()
    },
  }
}

function reasonOf(error: unknown): Reason {
  return ownReasons.vendor_unreachable(`firebase-admin (${(error as { code?: string }).code ?? 'unknown'})`)
}

/** Translates to firebase-admin's names and units (milliseconds). */
function adminMessage(
  message: Partial<FcmMessage & FcmIosMessage> & { token?: string; topic?: string },
): Message {
  const { token, topic, notification, data, android, apns, fcm_options } = message
  const shown = android?.notification
  const adminNotification: AdminNotification | undefined = shown && {
    sound: shown.sound,
    icon: shown.icon,
    color: shown.color,
    channelId: shown.channel_id,
    imageUrl: shown.image,
    clickAction: shown.click_action,
    tag: shown.tag,
    notificationCount: shown.notification_count,
  }
  const rest = {
    notification,
    data,
    fcmOptions: fcm_options && { analyticsLabel: fcm_options.analytics_label },
    apns: apns && {
      headers: apns.headers,
      payload: adminAps(apns.payload),
      fcmOptions: apns.fcm_options && { imageUrl: apns.fcm_options.image },
    },
    android: android && {
      priority: android.priority === 'HIGH' ? ('high' as const) : ('normal' as const),
      ttl: Number.parseInt(android.ttl, 10) * 1000,
      collapseKey: android.collapse_key,
      restrictedPackageName: android.restricted_package_name,
      notification: adminNotification,
    },
  }
  return withoutUndefined(topic === undefined ? { token: token ?? '', ...rest } : { topic, ...rest })
}

/** It has its own names for the fields of `aps` that it knows, and passes on the others. */
function adminAps({ aps }: FcmIosMessage['apns']['payload']): { aps: Record<string, unknown> } {
  const { alert, ...rest } = aps as Record<string, unknown> & { alert?: Record<string, unknown> }
  const names: Record<string, string> = {
    'content-available': 'contentAvailable',
    'mutable-content': 'mutableContent',
    'thread-id': 'threadId',
    'title-loc-key': 'titleLocKey',
    'title-loc-args': 'titleLocArgs',
    'loc-key': 'locKey',
    'loc-args': 'locArgs',
  }
  const renamed = (fields: object) =>
    Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [
        names[name] ?? name,
        name === 'content-available' || name === 'mutable-content' ? value === 1 : value,
      ]),
    )
  return {
    aps: {
      ...renamed(rest),
      ...(alert && { alert: renamed(alert) }),
      ...(isCritical(rest.sound) && { sound: { ...rest.sound, critical: true } }),
    },
  }
}

function isCritical(sound: unknown): sound is object {
  return typeof sound === 'object' && sound !== null
}

/** firebase-admin refuses fields that are undefined. */
function withoutUndefined<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

/** Connects to `deps.urls.fcm`, whatever host firebase-admin requests. */
function openAgent(deps: TransportDeps): Agent {
  const target = new URL(deps.urls.fcm)
  const options: AgentOptions = {
    keepAlive: true,
    maxSockets: maxConcurrent,
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
