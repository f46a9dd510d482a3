import type { NoteTexts } from '../card.ts'

/** Chinese texts of the adapter's notes and warnings, except for those that all vendors share. */
export const noteTexts = {
  'The message has no category, so Huawei treats it as marketing: silent, text only, at most 2 per device and day.':
    '消息没有类别，华为按营销类处理：静默、纯文本、每台设备每天最多 2 条。',
  'Huawei refuses the importance HIGH: messages are sent with NORMAL.':
    '华为拒绝重要程度 HIGH：消息按 NORMAL 发送。',
  'The urgency HIGH needs a permission that Huawei grants per app; without it messages are sent with NORMAL.':
    '紧急程度 HIGH 需要华为按应用授权；未授权时按 NORMAL 发送。',
  'Huawei shows pictures of less than 512 KB, HarmonyOS 5 only up to 49,152 pixels (128 x 128 is advised), and none in marketing messages.':
    '华为只显示小于 512 KB 的图片；HarmonyOS 5 最多 49,152 像素（建议 128 x 128）；营销类消息不显示图片。',
  'HarmonyOS 5 has no Android intents: a tap opens the home page, and the intent is in the data.':
    'HarmonyOS 5 没有 Android intent：点击后打开首页，intent 放在数据中。',
  'HarmonyOS 5 opens no web pages: a tap opens the home page, and the address is in the data.':
    'HarmonyOS 5 不能打开网页：点击后打开首页，地址放在数据中。',
  'HarmonyOS 5 has no urgency: a background message waits until the app is in front.':
    'HarmonyOS 5 没有紧急程度：后台消息要等应用回到前台才处理。',
  '{1} is for HarmonyOS 5 and later, which needs a service account in the certificate.':
    '{1} 只用于 HarmonyOS 5 及以上，需要在通道配置中填写服务账号。',
  'Voice broadcasts and calls need a permission from Huawei; without it HarmonyOS 5 gets an alert, if the message has texts.':
    '语音播报和通话消息需要华为授权；未授权时，有文字的消息在 HarmonyOS 5 上按通知消息发送。',
  'HarmonyOS 5 finds a sound only by its file name with the ending, such as ring.mp3; otherwise it plays the default sound.':
    'HarmonyOS 5 只能按带扩展名的文件名（如 ring.mp3）查找提示音，否则播放默认提示音。',
  'extra.classes.service.category is not set, so Huawei treats service messages as marketing: silent, text only, at most 2 per device and day. Apply for self-classification in AppGallery Connect and set the category.':
    '未设置 extra.classes.service.category，华为把服务类消息按营销类处理：静默、纯文本、每台设备每天最多 2 条。请在 AppGallery Connect 申请自分类权益并填写类别。',
} as const satisfies NoteTexts
