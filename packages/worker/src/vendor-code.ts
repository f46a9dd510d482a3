/** Codes of one channel that get a name of their own; a vendor that answers with free text must not fill the registry. */
const MOST_CODES = 60

/**
 * The vendor's code at the head of an outcome's reason, as a label: `410 Unregistered` → Unregistered, `20301 no valid
 * target` → 20301, `HTTP 502` → http_502. Our own sentences have none.
 */
export function vendorCode(reason: string): string {
  const http = /^(?:HTTP|status|oauth) (\d{1,6})\b/i.exec(reason)
  if (http) return `${reason.slice(0, reason.indexOf(' ')).toLowerCase()}_${http[1]}`
  const word = /^\d{3} ([A-Z][A-Za-z0-9_]{2,63})$/.exec(reason)
  if (word) return word[1]!
  const code = /^-?\d{1,12}(?![\w.])/.exec(reason)
  if (code) return code[0]
  const name = /^[A-Za-z][A-Za-z0-9_]{2,63}(?=$|:| \()/.exec(reason)
  return name ? name[0] : 'none'
}

/** Keeps the number of codes bounded: those that come after the first sixty are `other`. */
export function createCodeBook(): (channel: string, reason: string) => string {
  const known = new Map<string, Set<string>>()
  return (channel, reason) => {
    const code = vendorCode(reason)
    const codes = known.get(channel) ?? new Set()
    known.set(channel, codes)
    if (codes.has(code)) return code
    if (codes.size >= MOST_CODES) return 'other'
    codes.add(code)
    return code
  }
}
