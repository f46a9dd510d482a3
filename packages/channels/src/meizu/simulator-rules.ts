import { isObject, isWhole } from '../shared/sim-checks.ts'
import { countCodePoints } from '../shared/truncate.ts'

/** Meizu does not say which code goes with which field; a blank one is 110004, any other fault 1005 with words. */
export type Refusal = { code: '1005' | '110004'; message: string }

type MessageRules = {
  vip: boolean
  /** Pictures that Meizu hosts. */
  isHosted(url: string): boolean
  /** The console knows this receipt address. */
  isRegistered(url: string): boolean
}

type Part = Record<string, unknown>

/** What is wrong with the messageJson of a notice; undefined when it is in order. */
export function findNoticeFault(message: Part, rules: MessageRules): Refusal | undefined {
  return (
    barFault(partOf(message, 'noticeBarInfo')) ??
    expandFault(partOf(message, 'noticeExpandInfo'), rules) ??
    clickFault(partOf(message, 'clickTypeInfo')) ??
    timeFault(partOf(message, 'pushTimeInfo')) ??
    advanceFault(partOf(message, 'advanceInfo')) ??
    vipFault(message.vipInfo, rules) ??
    extraFault(message.extra, rules)
  )
}

export function findPassThroughFault(message: Part): Refusal | undefined {
  const { title, content } = message
  if (title !== undefined && !isText(title, 0, 32)) return bad('title')
  if (isBlank(content)) return blank('content')
  if (typeof content !== 'string' || Buffer.byteLength(content) > 2000) return bad('content')
  return timeFault(partOf(message, 'pushTimeInfo'))
}

function barFault(bar: Part): Refusal | undefined {
  if (isBlank(bar.title)) return blank('noticeBarInfo.title')
  if (!isText(bar.title, 1, 32)) return bad('noticeBarInfo.title')
  if (isBlank(bar.content)) return blank('noticeBarInfo.content')
  if (!isText(bar.content, 1, 100)) return bad('noticeBarInfo.content')
  if (!isOneOf(bar.noticeMsgType, 0, 1)) return bad('noticeBarInfo.noticeMsgType')
  return isOneOf(bar.noticeBarType, 0, 2) ? undefined : bad('noticeBarInfo.noticeBarType')
}

function expandFault(expand: Part, rules: MessageRules): Refusal | undefined {
  const { noticeExpandType, noticeExpandContent, noticeExpandImgUrl } = expand
  if (!isOneOf(noticeExpandType, 0, 1, 2)) return bad('noticeExpandInfo.noticeExpandType')
  if (noticeExpandType === 1 && isBlank(noticeExpandContent))
    return blank('noticeExpandInfo.noticeExpandContent')
  if (noticeExpandType !== 2) return undefined
  if (!rules.vip) return bad('noticeExpandInfo.noticeExpandType')
  if (isBlank(noticeExpandImgUrl)) return blank('noticeExpandInfo.noticeExpandImgUrl')
  return rules.isHosted(String(noticeExpandImgUrl)) ? undefined : bad('noticeExpandInfo.noticeExpandImgUrl')
}

function clickFault(click: Part): Refusal | undefined {
  const { clickType, activity, url, parameters, customAttribute } = click
  if (!isOneOf(clickType, 0, 1, 2, 3)) return bad('clickTypeInfo.clickType')
  if (parameters !== undefined && parameters !== null && !isObject(parameters))
    return bad('clickTypeInfo.parameters')
  if (clickType === 1) {
    if (isBlank(activity)) return blank('clickTypeInfo.activity')
    if (!isText(activity, 1, 1000) || String(activity).includes('/')) return bad('clickTypeInfo.activity')
  }
  if (clickType === 2) {
    if (isBlank(url)) return blank('clickTypeInfo.url')
    if (!isText(url, 1, 1000)) return bad('clickTypeInfo.url')
  }
  if (clickType === 3) {
    if (isBlank(customAttribute)) return blank('clickTypeInfo.customAttribute')
    if (Buffer.byteLength(String(customAttribute)) > 1000) return bad('clickTypeInfo.customAttribute')
  }
  return undefined
}

function timeFault({ offLine, validTime }: Part): Refusal | undefined {
  if (!isFlag(offLine)) return bad('pushTimeInfo.offLine')
  const kept = offLine === undefined || offLine === 1 || offLine === true
  if (!kept || validTime === undefined) return undefined
  return isWhole(validTime, 1, 72) ? undefined : bad('pushTimeInfo.validTime')
}

const displayTime = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/

function advanceFault(advance: Part): Refusal | undefined {
  for (const name of ['suspend', 'clearNoticeBar', 'fixDisplay'])
    if (!isFlag(advance[name])) return bad(`advanceInfo.${name}`)
  const effects = partOf(advance, 'notificationType')
  for (const name of ['vibrate', 'lights', 'sound'])
    if (!isFlag(effects[name])) return bad(`advanceInfo.notificationType.${name}`)
  const { fixDisplay, fixStartDisplayTime: from, fixEndDisplayTime: to, notifyKey } = advance
  if (fixDisplay === 1 || fixDisplay === true) {
    if (typeof from !== 'string' || !displayTime.test(from)) return bad('advanceInfo.fixStartDisplayTime')
    if (typeof to !== 'string' || !displayTime.test(to) || to <= from)
      return bad('advanceInfo.fixEndDisplayTime')
  }
  if (isBlank(notifyKey)) return undefined
  return typeof notifyKey === 'string' && /^[0-9A-Za-z_-]{1,8}$/.test(notifyKey)
    ? undefined
    : bad('advanceInfo.notifyKey')
}

function vipFault(vipInfo: unknown, { vip }: MessageRules): Refusal | undefined {
  return !isObject(vipInfo) || Object.keys(vipInfo).length === 0 || vip ? undefined : bad('vipInfo')
}

function extraFault(extra: unknown, { isRegistered }: MessageRules): Refusal | undefined {
  if (!isObject(extra) || Object.keys(extra).length === 0) return undefined
  const { callback, 'callback.param': param, 'callback.type': type } = extra
  if (isBlank(callback)) return blank('extra.callback')
  if (typeof callback !== 'string' || Buffer.byteLength(callback) > 128 || !isRegistered(callback))
    return bad('extra.callback')
  if (param !== undefined && (typeof param !== 'string' || Buffer.byteLength(param) > 64))
    return bad('extra.callback.param')
  return type === undefined || ['1', '2', '3'].includes(String(type)) ? undefined : bad('extra.callback.type')
}

function partOf(message: Part, name: string): Part {
  const part = message[name]
  return isObject(part) ? part : {}
}

function isText(value: unknown, least: number, most: number): boolean {
  if (typeof value !== 'string') return false
  const count = countCodePoints(value)
  return count >= least && count <= most
}

function isOneOf(value: unknown, ...allowed: number[]): boolean {
  return value === undefined || allowed.includes(value as number)
}

/** Meizu's own SDK writes true and false where the documents have 1 and 0. */
function isFlag(value: unknown): boolean {
  return value === undefined || value === 0 || value === 1 || typeof value === 'boolean'
}

function isBlank(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

function bad(field: string): Refusal {
  return { code: '1005', message: `参数错误，请参考API文档: ${field}` }
}

function blank(field: string): Refusal {
  return { code: '110004', message: `参数不能为空: ${field}` }
}
