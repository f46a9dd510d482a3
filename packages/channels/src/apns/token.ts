/** Apple takes digits of either case. */
export function canonicalToken(token: string): string {
  return token.toLowerCase()
}

/** Hexadecimal; Apple documents no length, usual tokens have 64 digits. */
export function checkToken(token: string): string | undefined {
  if (/^[0-9a-fA-F]{64,200}$/.test(token) && token.length % 2 === 0) return undefined
  return 'device_token is not an APNs token: it must be 64 to 200 hexadecimal digits, without spaces or brackets'
}
