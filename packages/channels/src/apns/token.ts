/** Hex without a promised length; ordinary tokens have 64 digits. */
export function checkToken(token: string): string | undefined {
  if (/^[0-9a-fA-F]{64,200}$/.test(token) && token.length % 2 === 0) return undefined
  return 'device_token is no APNs token: it must be 64 to 200 hexadecimal digits, without spaces or brackets'
}
