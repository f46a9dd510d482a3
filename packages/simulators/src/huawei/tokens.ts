/** Prefixes of tokens with a preset result; all other tokens are alive and get the message. */
const presetPrefix =
  /^(ILLEGAL|NORIGHT|NOPUSHTYPE|APPINFO|PENALTY|COUNTRY|IMGPOLICY|UNINST|MISMATCH|NOTIFYOFF|CAP)/

export function presetOf(token: string): string | undefined {
  return presetPrefix.exec(token)?.[1]
}

/** Receipt codes. */
export const statusByPreset: Readonly<Record<string, number>> = {
  UNINST: 2,
  MISMATCH: 5,
  NOTIFYOFF: 6,
  CAP: 102,
}

/** Reasons of v3; v1 and v2 list a token without a reason. */
const nextReasons: Readonly<Record<string, string>> = {
  NORIGHT: 'noRight',
  NOPUSHTYPE: 'noPushTypeRight',
  APPINFO: 'appinfoError',
  PENALTY: 'disableSendHuaweiMsgBecauseOfPenalty',
  COUNTRY: 'countryNotSupport',
}

/** Beginnings of real tokens. Tokens that look like neither are accepted by all versions. */
const harmonyToken = /^MA[A-Za-z]{2}Lg/
const androidToken = /^(IQAAAA|\d{24,}CN\d\d$)/

/** Why a token is refused, in the words of v3. `hasImage`: the message has a picture. `hasRight`: the app may send this kind of message. */
export function refusalOf(
  token: string,
  { isNext, hasImage, hasRight, isAlive }: Record<'isNext' | 'hasImage' | 'hasRight' | 'isAlive', boolean>,
): string | undefined {
  const preset = presetOf(token) ?? ''
  if (preset === 'ILLEGAL' || !isAlive) return 'tokenFormatError'
  if ((isNext ? androidToken : harmonyToken).test(token)) return 'tokenPlatformNotSupport'
  if (!isNext) return undefined
  if (!hasRight) return 'noPushTypeRight'
  return preset === 'IMGPOLICY' && hasImage ? 'differentImgVerifyPolicy' : nextReasons[preset]
}
