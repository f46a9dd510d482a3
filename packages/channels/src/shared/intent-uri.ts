/** An Android intent URI in its parts: `<address>#Intent;action=…;component=…;S.key=value;end`. */
export type IntentUri = {
  /** The part before `#Intent;`. */
  address: string
  /** action, component, scheme and so on. */
  fields: ReadonlyMap<string, string>
  /** `kind` is the letter before the dot: S string, B boolean, i integer and so on. */
  extras: readonly { kind: string; name: string; value: string }[]
}

/** Returns undefined when the text is not an intent URI; unknown parts are ignored. */
export function parseIntentUri(uri: string): IntentUri | undefined {
  const at = uri.indexOf('#Intent;')
  if (at < 0) return undefined
  const fields = new Map<string, string>()
  const extras: { kind: string; name: string; value: string }[] = []
  for (const part of uri.slice(at + '#Intent;'.length).split(';')) {
    if (part === 'end') break
    const equals = part.indexOf('=')
    if (equals < 0) continue
    const name = part.slice(0, equals)
    const value = decode(part.slice(equals + 1))
    if (/^[SBbcdfils]\../.test(name)) extras.push({ kind: name[0]!, name: decode(name.slice(2)), value })
    else fields.set(name, value)
  }
  return { address: uri.slice(0, at), fields, extras }
}

/** The intent that shows a deep link, as Android writes it; with a package, no other app that knows the scheme can open it. */
export function viewIntent(url: string, packageName?: string): string {
  const colon = url.indexOf(':')
  const receiver = packageName === undefined ? '' : `package=${packageName};`
  return `intent:${url.slice(colon + 1)}#Intent;scheme=${url.slice(0, colon)};${receiver}end`
}

/** Vendors open web pages in the browser; a deep link has the scheme of the app. */
export function isWebPage(url: string): boolean {
  return /^https?:\/\//i.test(url)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
