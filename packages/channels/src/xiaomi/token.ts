/** Xiaomi trims white space, and its receipts have none. */
export function canonicalToken(token: string): string {
  return token.trim()
}

/** Base64, usually 64 characters. */
const regid = /^[A-Za-z0-9+/]{20,}={0,2}$/

export function checkToken(token: string): string | undefined {
  if (regid.test(token)) return undefined
  if (/\s/.test(token))
    return 'a Xiaomi regid contains no white space: a “+” was lost because the form was not encoded'
  return 'a Xiaomi regid is Base64 with at least 20 characters'
}
