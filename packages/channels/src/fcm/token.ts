/** `<instance id>:<rest>`; Google promises no length. */
const registrationToken = /^[A-Za-z0-9_-]+:[A-Za-z0-9_-]+$/

export function checkToken(token: string): string | undefined {
  if (registrationToken.test(token) && token.length <= 4096) return undefined
  return 'device_token is no FCM registration token: it has letters, digits, - and _ around one colon'
}
