import type { Card } from '../card.ts'
import { label, serviceAccountFile } from '../card-parts.ts'

export const card = {
  name: 'fcm',
  provider: 7,
  title: { en: 'FCM', zh: 'FCM' },
  defaultPlatform: 'android',
  addresses: {
    fcm: { setting: 'HERALD_FCM_URL', about: 'FCM', url: 'https://fcm.googleapis.com' },
    fcmToken: {
      setting: 'HERALD_FCM_TOKEN_URL',
      about: 'Google’s token exchange',
      url: 'https://oauth2.googleapis.com',
    },
  },
  credentials: [
    {
      fields: [
        {
          to: 'app_id',
          label: label.projectId,
          kind: 'text',
          optional: true,
          flag: 'project-id',
          about: 'project id (default: the one in the JSON file)',
        },
        {
          to: 'certificate',
          label: label.serviceAccount,
          kind: 'file',
          flag: 'service-account',
          about: 'JSON key file of a service account',
          file: serviceAccountFile,
        },
        {
          to: 'extra.package_name',
          label: label.packageName,
          kind: 'text',
          optional: true,
          about: 'tokens must belong to this Android package',
        },
      ],
      example: '--service-account service-account.json',
    },
  ],
  classFields: {},
  message: { object: 'fcm', android: true, inheritsChannel: true, fields: {} },
  // https://firebase.google.com/docs/cloud-messaging/throttling-and-quotas: 600,000 messages per minute and project
  limits: { tokensPerCall: 1000, onePerDevice: true, requestsPerSecond: 10_000, timeZone: 'UTC' },
  referenceLibrary: 'firebase-admin',
} as const satisfies Card
