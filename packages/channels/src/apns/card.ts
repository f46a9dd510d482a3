import type { Card, CredentialField } from '../card.ts'
import { label } from '../card-parts.ts'

const bundleIds = {
  to: 'extra.bundle_ids',
  label: { en: 'Additional bundle IDs (comma-separated)', zh: '其他 Bundle ID（逗号分隔）' },
  kind: 'list',
  about: 'further bundle ids that this credential is valid for; a binding may name one of them',
  optional: true,
} as const satisfies CredentialField

const bundleId = {
  to: 'app_id',
  label: { en: 'Bundle ID', zh: '应用包 ID（Bundle ID）' },
  kind: 'text',
  flag: 'bundle-id',
  about: 'bundle id (the topic); optional with a certificate for a single topic',
} as const satisfies CredentialField

export const card = {
  name: 'apns',
  provider: 1,
  title: { en: 'APNs', zh: 'APNs' },
  solePlatform: 'ios',
  defaultPlatform: 'ios',
  addresses: {
    apns: {
      setting: 'HERALD_APNS_URL',
      about: 'APNs (production)',
      url: 'https://api.push.apple.com',
      environment: 'production',
    },
    apnsSandbox: {
      setting: 'HERALD_APNS_SANDBOX_URL',
      about: 'APNs (development)',
      url: 'https://api.sandbox.push.apple.com',
      environment: 'development',
    },
  },
  credentials: [
    {
      kind: { en: 'Signing key (.p8)', zh: '签名密钥（.p8）' },
      fields: [
        bundleId,
        {
          to: 'app_key',
          label: { en: 'Key ID', zh: '密钥 ID（Key ID）' },
          kind: 'text',
          flag: 'key-id',
          about: 'key id of the .p8 file',
        },
        {
          to: 'app_secret',
          label: { en: 'Team ID', zh: '团队 ID（Team ID）' },
          kind: 'text',
          flag: 'team-id',
          about: 'team id, with a .p8 file',
        },
        {
          to: 'certificate',
          label: { en: 'Signing key (.p8)', zh: '签名密钥内容（.p8）' },
          kind: 'file',
          flag: 'p8',
          about: 'signing key, AuthKey_….p8',
          file: { accept: '.p8,.pem', as: 'text' },
        },
        bundleIds,
      ],
      example: '--bundle-id com.example.shop --key-id ABC1234567 --team-id DEF1234567 --p8 AuthKey.p8',
    },
    {
      kind: { en: 'Certificate (.p12 or PEM)', zh: '证书（.p12 或 PEM）' },
      fields: [
        { ...bundleId, optional: true },
        {
          to: 'app_secret',
          label: { en: 'Passphrase', zh: '证书密码' },
          kind: 'text',
          secret: true,
          optional: true,
          flag: 'passphrase',
          about: 'passphrase of the .p12 file',
        },
        {
          to: 'certificate',
          label: { en: 'Certificate (base64 of the .p12, or PEM)', zh: '证书（.p12 的 base64，或 PEM）' },
          kind: 'file',
          flag: 'p12',
          about: 'push certificate with its key',
          file: { accept: '.p12,.pfx,.pem', as: 'base64' },
          alias: { flag: 'pem', about: 'push certificate with its key, in PEM', as: 'text' },
        },
        bundleIds,
      ],
      example: '--environment development --p12 push.p12 --passphrase-file passphrase.txt',
    },
  ],
  classFields: {},
  message: {
    object: 'ios',
    fields: {
      sound: {
        type: 'text',
        label: { en: 'Sound', zh: '提示音' },
        about: 'Alert sound; without it the push makes no sound.',
      },
      content_available: {
        type: 'flag',
        label: { en: 'Content available', zh: '后台唤醒（content-available）' },
        about: 'APNs content-available.',
      },
      mutable_content: {
        type: 'flag',
        label: { en: 'Mutable content', zh: '可修改内容（mutable-content）' },
        about: 'APNs mutable-content.',
      },
      category: { type: 'text', label: label.category, about: 'APNs payload category.' },
      thread_id: {
        type: 'text',
        label: { en: 'Thread ID', zh: '分组 ID（thread-id）' },
        about: 'APNs thread-id: notifications with the same value are grouped.',
      },
      subtitle: { type: 'text', maxLength: 1_048_576, label: { en: 'Subtitle', zh: '副标题' } },
      apns_collapse_id: {
        type: 'text',
        maxBytes: 64,
        label: { en: 'Collapse ID', zh: '折叠 ID' },
        about: 'A notification replaces earlier ones with the same value.',
      },
    },
  },
  // Apple documents no rate limit per app, only one per device.
  limits: { tokensPerCall: 1000, onePerDevice: true, timeZone: 'UTC' },
  topicPerBinding: true,
  environmentBound: true,
  absoluteBadge: true,
  referenceLibrary: 'apn',
} as const satisfies Card
