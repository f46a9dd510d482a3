import { type Card, cards, type NoteTexts } from '@herald/channels/cards'
import { partIn } from './part-texts.ts'

/**
 * Chinese texts of sentences that the API says about messages, credentials, recalls and webhooks: notes of /push/explain, warnings of
 * credentials, errors of requests. Those of one vendor are in its card. English needs none.
 */
const shared: NoteTexts = {
  '{1} shows body; big_text is not sent.': '{1}只显示正文（body），不发送长文本（big_text）。',
  '{1} shows no pictures; the app gets the address in its data.':
    '{1}不显示图片，图片地址放在数据中交给应用。',
  '{1} shows no pictures; the address is not sent.': '{1}不显示图片，图片地址不会发送。',
  '{1} has no notification channels: channel_id is not sent.': '{1}没有通知渠道，channel_id 不会发送。',
  '{1} takes only the channel_id of its own object: that of android is not sent.':
    '{1}只使用自己对象中的 channel_id，android 中的不会发送。',
  '{1} opens no addresses: a tap opens the app, which gets the address in its data.':
    '{1}不能打开链接：点击后打开应用，链接放在数据中交给应用。',
  '{1} opens no addresses: a tap opens the app.': '{1}不能打开链接：点击后打开应用。',
  '{1} cannot replace notifications: collapse_key is not sent.': '{1}不能替换通知，collapse_key 不会发送。',
  '{1} leaves it to the app what it shows while it is in front; the app gets foreground in its data.':
    '应用在前台时是否显示，{1}交由应用决定；应用可从数据中读取 foreground。',
  '{1} has no option for foreground: the notification is also shown in front of the app.':
    '{1}没有前台显示选项：应用在前台时通知也会显示。',
  '{1} has no option for urgent.': '{1}没有紧急（urgent）选项。',
  '{1} has no room for {2}: it is left out.': '{1}容纳不下 {2}，不会发送该字段。',
  '{1} has no room for all of {2}: it is cut.': '{1}容纳不下完整的 {2}，超出部分会被截断。',
  '{1} shows pictures with an https address only; this one is sent in the data.':
    '{1}只显示 https 地址的图片；该图片地址放在数据中发送。',
  'The picture is not shown: extra.{1} of the certificate is not true.':
    '图片不会显示：通道配置中的 extra.{1} 未开启。',
  '{1} has no named sounds; the default sound is used.': '{1}不支持指定提示音，将使用默认提示音。',
  'The url is too long for {1}: a tap opens the app, which gets it in its data.':
    '链接对{1}来说过长：点击后打开应用，链接放在数据中交给应用。',
  'The url is too long for {1}: a tap opens the app, which gets it in its data if it fits there.':
    '链接对{1}来说过长：点击后打开应用，放得下时链接在数据中交给应用。',
  '{1} can add only 1 to a badge.': '{1}的角标只能加 1。',
  'Nothing is sent with it: {1}.': '无法用它发送：{1}。',
  '{1} is not used by {2}; leave it blank.': '{2}不使用 {1}，请留空。',
  'The certificate expired on {1}.': '已于 {1} 过期。',
  'The certificate expires on {1}.': '将于 {1} 到期。',
  'HERALD_PUBLIC_URL is not set, so no receipts are requested.': '未设置 HERALD_PUBLIC_URL，因此不请求回执。',
  'HERALD_PUBLIC_URL is too long: the callback URL would exceed 128 bytes, so no receipts are requested.':
    'HERALD_PUBLIC_URL 过长：回执地址会超过 128 字节，因此不请求回执。',
  '{1} has not answered since {2} UTC: {3} One batch is tried at {4} UTC; the others wait.':
    '{1}自 {2} UTC 起没有响应：{3} 将于 {4} UTC 试发一批，其余等待。',
  'The last check, at {1} UTC, failed: {2}': '最近一次验证失败（{1} UTC）：{2}',
  'The last check failed: {1}': '最近一次验证失败：{1}',
  'more than half of the tokens sent to in the last ten minutes were reported dead; no token is retired until this ends':
    '最近十分钟内，超过一半的令牌被厂商判定失效；情况恢复之前不移除任何令牌',
  'A cmd message shows nothing.': '透传消息不显示通知，无法撤回。',
  'A Live Activity is changed or ended by its next event.': '实时活动不能撤回，由它的下一个事件更新或结束。',
  'The vendor has no call that withdraws a message.': '厂商没有撤回消息的接口。',
  'Its certificate was removed.': '该通道的配置已删除。',
  '{1} cannot carry this message: {2}.': '{1}不支持此消息：{2}。',
  '{1} is disabled{2}: the vendor refuses its credentials{3}.': '{1}已停用：厂商拒绝了凭据。',
  'status {1}: redirects are not followed': '返回状态码 {1}：不跟随重定向',
  'status {1}': '返回状态码 {1}',
  'no answer within {1} s': '{1} 秒内没有响应',
  'the request failed ({1})': '请求失败（{1}）',
  'the url must begin with https:// or http://': '网址必须以 https:// 或 http:// 开头',
  'the url must not point to a private address': '网址不能指向内网地址',
  'the server answered with status 410 (gone)': '服务器返回状态码 410（已下线）',
  'requests failed for 72 hours, at last: {1}': '请求已连续失败 72 小时，最近一次：{1}',
}

/** Sentences that name a part of the messages, such as `messages of class service`. */
const ofParts: NoteTexts = {
  '{1} has refused {2} since {3} UTC: {4} Messages are sent without {5} until {6} UTC.':
    '{1}自 {3} UTC 起拒绝{2}：{4} 在 {6} UTC 之前，消息将不带该部分发送。',
  '{1} has refused {2}, first at {3} UTC: {4} The next message is sent with {5} again.':
    '{1}曾拒绝{2}（最早于 {3} UTC）：{4} 下一条消息会再次带上该部分。',
  'The quota of {1} for {2} has been used up since {3} UTC: {4} They take the device’s next channel, or wait, until {5} UTC; all others are sent.':
    '{1}的配额（{2}）自 {3} UTC 起已用完：{4} 在 {5} UTC 之前，这些消息改走设备的下一条通道，没有则等待；其余照常发送。',
  'The quota of {1} for {2} was used up from {3} UTC to {4} UTC: {5}':
    '{1}的配额（{2}）在 {3} 至 {4} UTC 期间用完：{5}',
  '{1} has refused {2} since {3} UTC: {4} They are not sent until {5} UTC; all others are.':
    '{1}自 {3} UTC 起拒绝{2}：{4} 在 {5} UTC 之前不发送这些消息，其余照常发送。',
  '{1} has refused {2}, first at {3} UTC: {4} The next one is sent again.':
    '{1}曾拒绝{2}（最早于 {3} UTC）：{4} 下一条会重新发送。',
}

type Translation = {
  pattern: RegExp
  order: readonly string[]
  chinese: string
  nameOf(part: string): string
}

const vendorTitles = new Map(cards.map(({ title }) => [title.en as string, title.zh as string]))
const titleOf = (name: string) => vendorTitles.get(name) ?? name

/** Not of the vendor's words, which end like a sentence. */
const partName = (part: string) =>
  /[.!?]$/.test(part) ? part : partIn('zh', titleOf(part).replace(/^messages of /, ''))

function translationsOf(texts: NoteTexts, nameOf: Translation['nameOf']): Translation[] {
  return Object.entries(texts).map(([english, chinese]) => {
    const parts = english.split(/(\{\d\})/)
    const source = parts.map((part) =>
      /^\{\d\}$/.test(part) ? '(.+?)' : part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'),
    )
    return {
      pattern: new RegExp(`^${source.join('')}$`),
      order: parts.filter((part) => /^\{\d\}$/.test(part)),
      chinese,
      nameOf,
    }
  })
}

let translations: readonly Translation[] | undefined

/** The sentence in the reader's language; undefined if there is no translation. */
export function noteIn(language: string, sentence: string): string | undefined {
  if (language !== 'zh') return sentence
  // Those of a vendor first: they are longer.
  translations ??= [
    ...cards.flatMap((card: Card) => translationsOf(card.noteTexts ?? {}, titleOf)),
    ...translationsOf(shared, titleOf),
    ...translationsOf(ofParts, partName),
  ]
  for (const { pattern, order, chinese, nameOf } of translations) {
    const found = pattern.exec(sentence)
    if (!found) continue
    return order.reduce((text, place, at) => text.replaceAll(place, () => nameOf(found[at + 1]!)), chinese)
  }
  return undefined
}
