import type { NoteTexts } from '../card.ts'

/** Chinese texts of the adapter's notes and warnings, except for those that all vendors share. */
export const noteTexts = {
  'OPPO has no room for the url: a tap opens the app, which gets it in its data.':
    'OPPO 容纳不下该链接：点击后打开应用，链接放在数据中交给应用。',
  'OPPO would append the data to the address of a web page, so ext is not sent.':
    'OPPO 会把数据拼接到网页地址后面，因此不发送 ext。',
  'OPPO has no sound per message: the notification channel and the notify level decide.':
    'OPPO 不支持按消息设置提示音，由通知渠道和提醒等级决定。',
  'The message has no category (message.oppo.category or extra.classes.{1}.category), which OPPO demands of newer applications.':
    '消息没有类别（message.oppo.category 或 extra.classes.{1}.category），OPPO 要求较新的应用必须填写。',
  'extra.classes.{1}.category is not set: OPPO refuses {2} messages without a category if the application enabled push after 20 November 2024.':
    '未设置 extra.classes.{1}.category：2024 年 11 月 20 日之后开通推送的应用，没有类别的消息会被 OPPO 拒绝。',
  'extra.classes.{1}.notify_level is 16, for which OPPO must have permitted strong reminders.':
    'extra.classes.{1}.notify_level 为 16，须先获得 OPPO 的强提醒授权。',
} as const satisfies NoteTexts
