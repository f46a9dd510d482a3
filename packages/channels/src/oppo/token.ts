/** The two shapes that the vendor's own SDK accepts. */
const registrationId = /^(?:(?:[0-9A-Za-z]{2,10}_)?.*_)?[0-9a-fA-F]{32}$|^[0-9a-fA-F]{24}$/

/** undefined = fine, else one sentence. */
export function checkToken(token: string): string | undefined {
  if (registrationId.test(token) && !/[\s,;]/.test(token)) return undefined
  return 'an OPPO registration id ends in 32 hexadecimal digits, such as OPPO_CN_ and then the digits'
}
