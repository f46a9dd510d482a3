/** The two forms that OPPO's SDK accepts. */
const registrationId = /^(?:(?:[0-9A-Za-z]{2,10}_)?.*_)?[0-9a-fA-F]{32}$|^[0-9a-fA-F]{24}$/
/** Those that OPPO issues have about 40 characters; the limit is a guess. */
const printable = /^[!-~]{24,256}$/

export function checkToken(token: string): string | undefined {
  if (printable.test(token) && !/[,;]/.test(token) && registrationId.test(token)) return undefined
  return 'an OPPO registration id ends with 32 hexadecimal digits, for example OPPO_CN_ followed by the digits'
}

/** One part, `CN_…` or `OPPO_CN_…` is mainland China (https://open.oppomobile.com/new/developmentDoc/info?id=11235). */
export function regionOf(token: string): 'cn' | 'intl' {
  const parts = token.split('_')
  const isMainland = parts.length === 1 || (parts.length <= 3 && parts.at(-2) === 'CN')
  return isMainland ? 'cn' : 'intl'
}
