import { HeraldError } from '@herald/client'

/** What the API's codes say in Chinese. English needs none: the API's own sentence is English, and names the field. */
const chinese: Record<number, string> = {
  40001: '请求不是 JSON 对象，或含有未知字段。',
  40002: '某个字段缺失，或类型、范围、格式不正确。',
  40003: '受众不正确：须为全部设备，或仅填写一种条件，且不超过 500 项。',
  40004: '消息为空：请至少填写标题、正文或其他内容。',
  40005: '缺少应用 ID。',
  40101: '请先登录。',
  40102: '登录已失效，请重新登录。',
  40103: '登录失败：密钥不正确，或没有这个应用。',
  40104: '没有这个应用。',
  40301: '当前身份无权执行此操作。',
  40302: '当前身份不能代表该用户或群组操作。',
  40303: '请求来自其他网站，已被拒绝。',
  40401: '所指的任务、证书、用户或设备不存在。',
  40501: '该地址不支持此操作。',
  40801: '请求未能及时送达，请重试。',
  40901: '已经存在，请换一个名称。',
  40902: '任务已结束，不能再更改。',
  41301: '请求内容太大。',
  42901: '请求过于频繁，请稍后再试。',
  42902: '失败次数过多，请稍后再试。',
  43101: '请求头太大。',
  50001: '服务内部错误，详见服务日志。',
  50301: '数据库暂时无法访问，本次请求未被受理。',
}

/** Codes that leave nothing open, so that a second sentence would only repeat the first. */
const whole = new Set([40101, 40102, 40103, 40902, 42901, 42902, 50301])

/** A refusal as it is shown: in the language's own words, in the API's sentence, or in both. */
export type Refusal = { sentence?: string; original?: string }

export function refusalIn(language: string, error: unknown): Refusal {
  const original = error instanceof Error ? error.message : String(error)
  const sentence = language === 'zh' && error instanceof HeraldError ? chinese[error.code] : undefined
  if (sentence === undefined) return { original }
  return whole.has((error as HeraldError).code) ? { sentence } : { sentence, original }
}
