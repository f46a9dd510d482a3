/** Base64 text, usually 64 characters; the ends are trimmed by Xiaomi. */
const regid = /^[A-Za-z0-9+/]{20,}={0,2}$/

/** undefined = fine, else one sentence. */
export function checkToken(token: string): string | undefined {
  const trimmed = token.trim()
  if (regid.test(trimmed)) return undefined
  if (/\s/.test(trimmed)) return 'a Xiaomi regid has no blanks: a “+” was lost by missing form encoding'
  return 'a Xiaomi regid is Base64 text of at least 20 characters'
}
