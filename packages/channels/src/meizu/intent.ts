import { parseVerbatim } from '@herald/domain'

/** What Meizu can open: a page of the app by its class, or an address. */
export type MeizuTarget =
  | { kind: 'page'; activity: string; extras: Record<string, unknown> }
  | { kind: 'address'; url: string; extras: Record<string, unknown> }

/**
 * Reads an Android intent URI. A component names the page; without one, a scheme makes an address of it. Undefined when it
 * is neither.
 */
export function readIntent(uri: string): MeizuTarget | undefined {
  const at = uri.indexOf('#Intent;')
  if (at < 0) return isAddress(uri) ? { kind: 'address', url: uri, extras: {} } : undefined
  const parts = uri.slice(at + '#Intent;'.length).split(';')
  const fields = new Map<string, string>()
  const extras: Record<string, unknown> = {}
  for (const part of parts) {
    if (part === 'end') break
    const equals = part.indexOf('=')
    if (equals < 0) continue
    const name = part.slice(0, equals)
    const value = decode(part.slice(equals + 1))
    if (/^[SBbcdfils]\./.test(name)) extras[decode(name.slice(2))] = typed(name[0]!, value)
    else fields.set(name, value)
  }
  const activity = activityOf(fields.get('component'))
  if (activity) return { kind: 'page', activity, extras }
  const scheme = fields.get('scheme')
  const data = uri.slice(0, at).replace(/^intent:/, '')
  const url = scheme && data.startsWith('//') ? `${scheme}:${data}` : data
  return isAddress(url) ? { kind: 'address', url, extras } : undefined
}

/** `pkg/cls`, where a class with a leading dot lies in the package; Meizu wants the class alone. */
function activityOf(component: string | undefined): string | undefined {
  const [pkg, cls, ...more] = component?.split('/') ?? []
  if (!pkg || !cls || more.length > 0) return undefined
  return cls.startsWith('.') ? pkg + cls : cls
}

/** S text, B true or false, c a character; the others are numbers, and keep their digits. */
function typed(kind: string, value: string): unknown {
  if (kind === 'B') return value === 'true'
  if (kind === 'S' || kind === 'c') return value
  return /^-?(0|[1-9]\d{0,18})(\.\d{1,30})?$/.test(value) ? parseVerbatim(value) : value
}

function isAddress(url: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/./i.test(url) && !/^intent:/i.test(url)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
