/** `<instance id>:<rest>`; Google documents no length. */
const registrationToken = /^[A-Za-z0-9_-]+:[A-Za-z0-9_-]+$/

export function checkToken(token: string): string | undefined {
  if (registrationToken.test(token) && token.length <= 4096) return undefined
  return 'device_token is not an FCM registration token: it must be letters, digits, - and _ with one colon'
}
