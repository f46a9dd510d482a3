import { reasonKindOf } from '@herald/channels/reason-kinds'
import { ownReasonNames, ownReasons } from '@herald/domain'

/** Herald's own reasons that have no details, by their text. */
const ownCodes = new Map(
  ownReasonNames.flatMap((name) => {
    const reason = ownReasons[name]
    return typeof reason === 'function' ? [] : [[reason.text, reason.code] as const]
  }),
)

/**
 * The code of a reason of which only the text was stored: the words of a vendor contain its code. Null if there is none, or if Herald does
 * not know it.
 */
export function codeInText(channel: string, text: string): string | null {
  const own = ownCodes.get(text)
  if (own !== undefined) return own
  const [, status] = /\bHTTP (\d{3})\b/.exec(text) ?? []
  const words = text.match(/\w+/g) ?? []
  return (
    [...words, ...(status === undefined ? [] : [`http_${status}`])]
      .map((word) => `${channel}.${word}`)
      .find((code) => reasonKindOf(code) !== undefined) ?? null
  )
}
