/** For vendors whose tokens are opaque: only what can never be one is refused. */
export function checkOpaqueToken(token: string): string | undefined {
  if (token.trim() === '') return 'device_token is blank'
  if (/\s/.test(token)) return 'device_token holds white space'
  if (token.length > 512) return 'device_token is longer than 512 characters'
  return undefined
}
