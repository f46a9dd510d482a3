/** Without commas, which separate tokens. */
const pushId = /^[0-9A-Za-z]{16,128}$/

export function checkToken(token: string): string | undefined {
  return pushId.test(token) ? undefined : 'a Meizu pushId has 16 to 128 letters and digits'
}
