import { refusedClickSchemes } from '@herald/domain'

const SCHEME = /^([a-z][a-z0-9+.-]*):(.+)$/i
// biome-ignore lint/suspicious/noControlCharactersInRegex: browsers remove some of these, so `java\tscript:` would pass as another scheme
const SPACE = /[\u0000-\u0020\u007f]/

/** Returns what is wrong with an address that a tap opens, or undefined. Which scheme is the application's is known to the app only. */
export function checkClickUrl(url: string): string | undefined {
  const [, scheme, rest] = SCHEME.exec(url) ?? []
  if (SPACE.test(url)) return 'must not contain spaces or control characters'
  // Vendors get a deep link inside an intent URI, where this begins the parts of the intent.
  if (/#Intent;/i.test(url)) return 'must not contain #Intent;'
  if (!scheme || !rest || !URL.canParse(url))
    return 'must be an https:// address or a deep link such as myapp://page'
  const name = scheme.toLowerCase()
  if (refusedClickSchemes.has(name))
    return `must be an https:// address or a deep link of the app, not ${name}:`
  if (name === 'https' && !/^\/\/[^/?#]/.test(rest)) return 'must have a host after https://'
  return undefined
}
