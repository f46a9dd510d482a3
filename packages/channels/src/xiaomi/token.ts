/** Base64, usually 64 characters; Xiaomi trims white space. */
const regid = /^[A-Za-z0-9+/]{20,}={0,2}$/

export function checkToken(token: string): string | undefined {
  const trimmed = token.trim()
  if (regid.test(trimmed)) return undefined
  if (/\s/.test(trimmed))
    return 'a Xiaomi regid contains no white space: a “+” was lost because the form was not encoded'
  return 'a Xiaomi regid is Base64 with at least 20 characters'
}
