import type { NoteTexts } from '../card.ts'

/** Chinese texts of the adapter's notes and warnings, except for those that all vendors share. */
export const noteTexts = {
  'Xiaomi has no badge field; the launcher counts notifications.': '小米没有角标字段，由桌面自行统计通知数。',
  'Xiaomi shows body: big_text is sent only if extra.big_text of the certificate is true.':
    '小米只显示正文（body）：通道配置中开启 extra.big_text 后才会发送长文本。',
  'On Android 8 and later the notification channel decides on the sound.':
    '安卓 8 及以上由通知渠道决定提示音。',
  'No channel is set for {1} messages (extra.channel_id or extra.classes.{2}.channel_id): without one Xiaomi delivers one silent message per device and day.':
    '未设置通知渠道（extra.channel_id 或 extra.classes.{2}.channel_id）：没有渠道时，小米每天只给每台设备投递一条静默消息。',
  'extra.classes.service.template_id is not set: Xiaomi requires a template for private channels of new applications, and of all applications from 2027 on.':
    '未设置 extra.classes.service.template_id：小米要求新应用的私信渠道使用模板，2027 年起所有应用都须使用。',
  'extra.big_picture has no effect: Xiaomi has shown no large pictures since August 2023.':
    'extra.big_picture 不起作用：小米自 2023 年 8 月起不再显示大图。',
} as const satisfies NoteTexts
