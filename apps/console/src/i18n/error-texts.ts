import { HeraldError } from '@herald/client'
import { complaintIn } from './complaints.ts'

/** Chinese texts by API code. English needs none: the API's message is English and names the field. */
const chinese: Record<number, string> = {
  40001: '请求不是 JSON 对象，或含有未知字段。',
  40002: '某个字段缺失，或者类型、范围、格式不正确。',
  40003: '受众不正确：请选择全部设备，或只填写一种条件，最多 500 项。',
  40004: '消息为空：请至少填写标题、正文或其他内容。',
  40005: '缺少应用 ID。',
  40101: '请先登录。',
  40102: '登录已失效，请重新登录。',
  40103: '登录失败：密钥不正确，或没有这个应用。',
  40104: '没有这个应用。',
  40301: '当前身份无权执行此操作。',
  40302: '当前身份不能代表该用户或群组操作。',
  40303: '请求来自其他网站，已拒绝。',
  40401: '指定的任务、通道配置、用户或设备不存在。',
  40501: '该地址不支持此操作。',
  40801: '请求超时，请重试。',
  40901: '名称已存在，请换一个。',
  40902: '任务已结束，不能再更改。',
  40903: '任务不能撤回：它本身是撤回任务、尚未发送，或所用通道不支持。',
  41301: '请求内容过大。',
  42901: '请求过于频繁，请稍后再试。',
  42902: '失败次数过多，请稍后再试。',
  43101: '请求头过大。',
  50001: '服务内部错误，请求可能已经执行。请先查看当前状态再重试，详情见服务日志。',
  50201: '无法连接 Herald，或其响应丢失，请求可能已经执行。request_id 相同的推送只发送一次。',
  50301: '数据库暂时不可用，或请求过多。推送未受理；导入、批量修改和擦除可能已部分执行，可以放心重试。',
}

/** Codes whose Chinese text says everything, so that the API's message is not shown. */
const complete = new Set([40101, 40102, 40103, 40902, 42901, 42902, 50201, 50301])

/** A field and what is wrong with it, such as `speed must be a number.`; undefined if the complaint has no translation. */
function fieldText(message: string): string | undefined {
  const [, path = '', complaint = ''] = FIELD.exec(message) ?? []
  const translated = complaintIn('zh', complaint)
  return translated === complaint ? undefined : `${path}：${translated}。`
}

const FIELD = /^([a-z][\w.[\]]*) (.+?)\.?$/

/** `original` is the message of the API or of the browser, in English. */
export type ErrorText = { translated?: string; original?: string }

export function errorTextIn(language: string, error: unknown): ErrorText {
  const original = error instanceof Error ? error.message : String(error)
  const translated = language === 'zh' && error instanceof HeraldError ? chinese[error.code] : undefined
  if (translated === undefined) return { original }
  const field = fieldText(original)
  if (field !== undefined) return { translated: field }
  return complete.has((error as HeraldError).code) ? { translated } : { translated, original }
}
