import type { Card } from '../card.ts'
import { label, serviceAccountFile } from '../card-parts.ts'
import { checkFields } from './card-check.ts'
import { reasonKinds } from './card-reasons.ts'

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
  message: {
    object: 'fcm',
    android: true,
    inheritsChannel: true,
    check: checkFields,
    fields: {
      priority: {
        type: 'choice',
        choices: ['HIGH', 'NORMAL', 'high', 'normal'],
        choiceTexts: {
          HIGH: { en: 'wakes the device', zh: '唤醒设备，立即送达' },
          NORMAL: { en: 'may be delayed while the device sleeps', zh: '设备休眠时可能延迟' },
        },
        label: { en: 'Priority', zh: '优先级（priority）' },
        about:
          'Android priority: HIGH wakes the device (default HIGH for notifications, NORMAL for cmd messages unless they are urgent).',
      },
      collapse_key: {
        type: 'text',
        maxLength: 255,
        label: { en: 'Collapse key', zh: '折叠键（collapse_key）' },
        about:
          'While the device is offline only the newest message with the same key is kept; at most 4 keys at a time per device. To replace a shown notification use message.collapse_key.',
      },
      analytics_label: {
        type: 'text',
        matches: {
          pattern: '[a-zA-Z0-9_.~%-]{1,50}',
          error: 'must have 1 to 50 letters, digits or characters of -_.~%',
        },
        label: { en: 'Analytics label', zh: '统计标签（analytics_label）' },
        about: 'Label in Firebase’s statistics; 100 different ones per day.',
      },
      icon: {
        type: 'text',
        maxLength: 255,
        label: { en: 'Icon', zh: '图标（icon）' },
        about: 'Name of a drawable resource of the app.',
      },
      color: {
        type: 'text',
        matches: { pattern: '#[0-9a-fA-F]{6}', error: 'must be a color of the form #rrggbb' },
        label: { en: 'Color', zh: '颜色（color）' },
        about: 'Color of the icon, `#rrggbb`.',
      },
    },
  },
  carries: {
    cmd: 'yes',
    big_text: { is: 'no', remark: 'shown if body is blank' },
    attachment_url: 'yes',
    badge: { is: 'yes', remark: 'a number above 0; it cannot add' },
    sound: 'yes',
    channel_id: 'yes',
    intent: { is: 'yes', remark: 'by its `action=`' },
    url: 'app',
    collapse_key: 'yes',
    foreground: 'app',
    urgent: { is: 'yes', remark: 'of cmd messages' },
  },
  // https://firebase.google.com/docs/cloud-messaging/throttling-and-quotas: 600,000 messages per minute and project
  limits: { tokensPerCall: 1000, onePerDevice: true, requestsPerSecond: 10_000, timeZone: 'UTC' },
  separatesIos: true,
  referenceLibrary: 'firebase-admin',
  reasonKinds,
  recall: 'replace',
} as const satisfies Card
