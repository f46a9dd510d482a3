import { readFileSync } from 'node:fs'

/** What every client sends: the same headers and body; the path (APNs) or the body (FCM) differs per recipient. */
const fixtures = new URL('../../packages/http2/test/fixtures/', import.meta.url)

export const ca = readFileSync(new URL('ca.pem', fixtures))

export const deviceToken = (index: number): string => index.toString(16).padStart(64, '0')

export const registrationToken = (index: number): string =>
  `${index.toString(36).padStart(22, 'd')}:APA91b${index.toString(36).padStart(134, 'x')}`

export const bearer = `bearer ${'x'.repeat(200)}`

export const apnsHeaders = {
  authorization: bearer,
  'apns-topic': 'com.example.app',
  'apns-push-type': 'alert',
  'apns-priority': '10',
  'apns-expiration': '1900000000',
  'apns-collapse-id': 't123456789',
}

export const apnsPayload = {
  aps: {
    alert: { title: 'Order', body: 'Your order 1001 is on its way to you' },
    badge: 5,
    sound: 'default',
  },
  task_id: '123456789',
}

export const fcmProject = 'bench'

export const fcmMessage = {
  notification: { title: 'Order', body: 'Your order 1001 is on its way to you' },
  data: { task_id: '123456789' },
}
