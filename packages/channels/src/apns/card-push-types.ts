import type { Text } from '../card.ts'

export const pushTypes = [
  'alert',
  'background',
  'liveactivity',
  'voip',
  'widgets',
  'controls',
  'location',
  'pushtotalk',
  'complication',
  'fileprovider',
] as const

export const pushTypeTexts = {
  alert: { en: 'shown to the user', zh: '向用户展示' },
  background: { en: 'wakes the app, shows nothing', zh: '后台唤醒应用，不展示' },
  liveactivity: { en: 'Live Activity', zh: '实时活动' },
  voip: { en: 'incoming call', zh: '来电（VoIP）' },
  widgets: { en: 'updates widgets', zh: '刷新小组件' },
  controls: { en: 'updates controls', zh: '刷新控件' },
  location: { en: 'asks for the location', zh: '请求位置' },
  pushtotalk: { en: 'push to talk', zh: '按键通话' },
  complication: { en: 'watch complication', zh: '表盘小组件' },
  fileprovider: { en: 'file provider extension', zh: '文件提供程序扩展' },
} as const satisfies Record<(typeof pushTypes)[number], Text>

export type PushType = (typeof pushTypes)[number]
export type Priority = 10 | 5 | 1

type Rules = {
  /** What the type adds to the bundle id to make the topic. */
  suffix: string
  /** The first is the default. */
  priorities: readonly [Priority, ...Priority[]]
  maxBytes: number
  /** APNs takes it with a provider token only, not with a push certificate. */
  tokenOnly?: true
  /** APNs does not store it. */
  online?: true
}

// https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns
export const pushTypeRules: Readonly<Record<PushType, Rules>> = {
  alert: { suffix: '', priorities: [10, 5, 1], maxBytes: 4096 },
  background: { suffix: '', priorities: [5], maxBytes: 4096 },
  // With 10 an update counts towards an hourly allowance, with 5 it does not.
  liveactivity: { suffix: '.push-type.liveactivity', priorities: [5, 10], maxBytes: 4096, tokenOnly: true },
  voip: { suffix: '.voip', priorities: [10], maxBytes: 5120 },
  widgets: { suffix: '.push-type.widgets', priorities: [5, 10], maxBytes: 4096 },
  // As in the example of https://developer.apple.com/documentation/widgetkit/updating-controls-locally-and-remotely
  controls: { suffix: '.push-type.controls', priorities: [10, 5], maxBytes: 4096, online: true },
  location: { suffix: '.location-query', priorities: [10, 5], maxBytes: 4096, tokenOnly: true },
  pushtotalk: { suffix: '.voip-ptt', priorities: [10], maxBytes: 4096, online: true },
  complication: { suffix: '.complication', priorities: [5, 10], maxBytes: 4096 },
  fileprovider: { suffix: '.pushkit.fileprovider', priorities: [5, 10], maxBytes: 4096 },
}

/** The device token of the binding serves these; the others have tokens of their own. */
export function usesDeviceToken(type: PushType): boolean {
  return type === 'alert' || type === 'background'
}

export function topicOf(bundleId: string, type: PushType): string {
  return bundleId + pushTypeRules[type].suffix
}
