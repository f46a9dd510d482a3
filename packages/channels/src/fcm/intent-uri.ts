/** The parts of an Android intent URI that FCM can express. */
export type IntentParts = { action?: string; extras: Record<string, string> }

/** Reads `intent:…#Intent;action=…;component=…;S.key=value;end`; what it does not know it leaves out. */
export function readIntentUri(uri: string): IntentParts {
  const start = uri.indexOf('#Intent;')
  const parts: IntentParts = { extras: {} }
  if (start < 0) return parts
  for (const item of uri.slice(start + '#Intent;'.length).split(';')) {
    if (item === 'end') break
    const equals = item.indexOf('=')
    if (equals < 0) continue
    const name = item.slice(0, equals)
    const value = decode(item.slice(equals + 1))
    if (name === 'action') parts.action = value
    else if (name.startsWith('S.') && name.length > 2) parts.extras[decode(name.slice(2))] = value
  }
  return parts
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
