/** Chinese names of the parts of a channel that a vendor refuses, such as `class service`. `$1` is what the pattern found. */
const chinese: readonly (readonly [RegExp, string])[] = [
  [/^class service$/, '服务与通讯类消息'],
  [/^class marketing$/, '资讯营销类消息'],
  [/^class system$|^system messages$/, '系统类消息'],
  [/^operational messages$/, '运营类消息'],
  [/^test messages$/, '测试消息'],
  [/^(.+) test messages$/, '测试消息（$1）'],
  [/^mode formal$/, '正式消息'],
  [/^pass-through messages$/, '透传消息'],
  [/^all messages$/, '全部消息'],
  [/^messages without a channel$/, '未指定通知渠道的消息'],
  [/^messages without a category$/, '未指定类别的消息'],
  [/^messages that need a new access token$/, '需要新访问令牌的消息'],
  [/^withdrawals$/, '撤回'],
  [/^topic (.+)$/, 'topic 为 $1 的消息'],
  [/^channel ([^,]+)$/, '通知渠道 $1 的消息'],
  [/^category ([^,]+)$/, '类别 $1 的消息'],
  [/^receipts$/, '回执'],
  [/^list payloads$/, '群发消息体'],
  [/^level (\w+)$/, '级别 $1'],
  [/^notify level$/, '提醒等级'],
  [/^picture, badge and notify level$/, '图片、角标和提醒等级'],
]

/** The part in the reader's language; as it is if it has no text. */
export function partIn(language: string, part: string): string {
  if (language !== 'zh') return part
  for (const [pattern, text] of chinese) if (pattern.test(part)) return part.replace(pattern, text)
  return part
}
