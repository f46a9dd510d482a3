/** Old regIds have 23 digits, newer ones are longer and base64. */
const regId = /^[A-Za-z0-9_=-]{16,128}$/

export function checkToken(token: string): string | undefined {
  return regId.test(token) ? undefined : 'a vivo regId has 16 to 128 letters, digits, _, = or -'
}
