import type { NoteTexts } from '../card.ts'

/** Chinese texts of the adapter's notes and warnings, except for those that all vendors share. */
export const noteTexts = {
  'vivo cannot set a badge to a number; it is not changed.': 'vivo 不能把角标设为指定数字，角标不变。',
  'The message asks for a system message, which vivo must have permitted to the application.':
    '消息要求按系统消息发送，应用须先获得 vivo 授权。',
  'extra.callback_id is not set: pushes to more than 4 devices have no receipts.':
    '未设置 extra.callback_id：发给超过 4 台设备的推送没有回执。',
  'extra.classes.service.category is not set: vivo then classifies system messages by their content and may treat them as operational.':
    '未设置 extra.classes.service.category：vivo 会按内容判断系统消息，可能当作运营消息处理。',
} as const satisfies NoteTexts
