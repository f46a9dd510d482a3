/**
 * A message in its normal form: checked, blanks gone, defaults filled. What vendors map from; stored with the task.
 */
export type Message = {
  type: 'text' | 'image' | 'cmd'
  title?: string
  body?: string
  attachmentUrl?: string
  bigText?: string
  badge: Badge
  /** The caller's JSON object as text, so that its numbers are never re-rounded. */
  ext?: string
  /** Unix seconds. */
  showBegin?: number
  showEnd?: number
  ios: IosOptions
  android: AndroidOptions
  huawei: HuaweiOptions
  honor: HonorOptions
  xiaomi: XiaomiOptions
  oppo: OppoOptions
  vivo: VivoOptions
  flyme: FlymeOptions
  fcm: AndroidOptions
}

export type Badge = { kind: 'set' | 'add'; count: number }

export type IosOptions = {
  sound?: string
  contentAvailable?: boolean
  mutableContent?: boolean
  category?: string
  threadId?: string
  subtitle?: string
  apnsCollapseId?: string
}

export type AndroidOptions = {
  sound?: string
  channelId?: string
  clickAction?: 'intent' | 'open_app'
  intent?: string
}

export type HuaweiOptions = AndroidOptions & {
  badgeClass?: string
  category?: string
  importance?: string
  urgency?: string
}
export type HonorOptions = AndroidOptions & { badgeClass?: string; importance?: string }
export type XiaomiOptions = AndroidOptions & { templateId?: string; templateParam?: string }
export type OppoOptions = AndroidOptions & {
  category?: string
  notifyLevel?: number
  privateMsgTemplateId?: string
  /** JSON object as text. */
  privateTitleParameters?: string
  privateContentParameters?: string
}
export type VivoOptions = AndroidOptions & { pushMode?: 0 | 1; classification?: 0 | 1; category?: string }
export type FlymeOptions = AndroidOptions & { noticeMsgType?: number }

export type MessageClass = 'service' | 'marketing'

/** The click of a message on one Android channel: what the vendor object and `android` say together. */
export type AndroidView = { sound?: string; channelId?: string; click: Click }
export type Click = { kind: 'open_app' } | { kind: 'intent'; intent: string }

type AndroidObject = 'huawei' | 'honor' | 'xiaomi' | 'oppo' | 'vivo' | 'flyme' | 'fcm'

/**
 * A vendor object's non-blank fields win over `android`. click_action and intent travel as a pair, so a vendor's
 * click is never completed with another object's intent; channel ids are registered per vendor, so only fcm and
 * huawei inherit android's.
 */
export function androidView(message: Message, object: AndroidObject): AndroidView {
  const own = message[object]
  const shared = message.android
  const clicker = own.clickAction || own.intent ? own : shared
  const inheritsChannel = object === 'fcm' || object === 'huawei'
  return {
    sound: own.sound ?? shared.sound,
    channelId: own.channelId ?? (inheritsChannel ? shared.channelId : undefined),
    click:
      clicker.clickAction === 'intent' && clicker.intent
        ? { kind: 'intent', intent: clicker.intent }
        : { kind: 'open_app' },
  }
}

/** Title and body for vendors that need both; undefined when every text is blank. */
export function titleAndBody(
  message: Message,
  applicationName: string,
): { title: string; body: string } | undefined {
  const title = message.title
  const body = message.body ?? message.bigText ?? title
  if (!body) return undefined
  return { title: title ?? applicationName, body }
}

/** Same number for every attempt of a task, so that a second delivery replaces the first on the screen. */
export function replaceKey(taskId: number): number {
  return (taskId % 2147483647) + 1
}
