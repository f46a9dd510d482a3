import http2 from 'node:http2'
import { initializeApp } from 'firebase-admin/app'
import { getMessaging } from 'firebase-admin/messaging'
import { runContender } from '../contender.ts'
import { ca, fcmMessage, fcmProject, registrationToken } from '../workload.ts'

/** Limit of sendEach. */
const chunk = 500

await runContender(registrationToken, async (port) => {
  redirect(port)
  const app = initializeApp({
    projectId: fcmProject,
    credential: { getAccessToken: async () => ({ access_token: 'x'.repeat(200), expires_in: 3600 }) },
  })
  const messaging = getMessaging(app)
  return {
    send: async (tokens) => {
      for (let at = 0; at < tokens.length; at += chunk) {
        const messages = tokens.slice(at, at + chunk).map((token) => ({ ...fcmMessage, token }))
        const { failureCount, responses } = await messaging.sendEach(messages)
        const failed = responses.find((response) => !response.success)
        if (failureCount > 0) throw new Error(`${failureCount} failed: ${failed?.error?.message}`)
      }
    },
    close: async () => {},
  }
})

/** The SDK's host is fixed, so its HTTP/2 sessions are redirected to the sink. */
function redirect(port: number): void {
  const connect = http2.connect
  const redirected = (_authority: unknown, options: http2.SecureClientSessionOptions) =>
    connect(`https://localhost:${port}`, { ...options, ca })
  Object.assign(http2, { connect: redirected })
}
