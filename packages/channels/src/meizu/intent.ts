import { parseVerbatim } from '@herald/domain'
import { type IntentUri, parseIntentUri } from '../shared/intent-uri.ts'

/** What Meizu can open: a page of the app by its class, or an address. */
type MeizuTarget =
  | { kind: 'page'; activity: string; extras: Record<string, unknown> }
  | { kind: 'address'; url: string; extras: Record<string, unknown> }

/**
 * Reads an Android intent URI. A component names the page; without one, a scheme makes an address of it. Undefined when it
 * is neither.
 */
export function readIntent(uri: string): MeizuTarget | undefined {
  const intent = parseIntentUri(uri)
  if (!intent) return isAddress(uri) ? { kind: 'address', url: uri, extras: {} } : undefined
  const extras = Object.fromEntries(intent.extras.map(({ kind, name, value }) => [name, typed(kind, value)]))
  const activity = activityOf(intent.fields.get('component'))
  if (activity) return { kind: 'page', activity, extras }
  const url = addressOf(intent)
  return isAddress(url) ? { kind: 'address', url, extras } : undefined
}

/** `pkg/cls`, where a class with a leading dot lies in the package; Meizu wants the class alone. */
function activityOf(component: string | undefined): string | undefined {
  const [pkg, cls, ...more] = component?.split('/') ?? []
  if (!pkg || !cls || more.length > 0) return undefined
  return cls.startsWith('.') ? pkg + cls : cls
}

function addressOf({ address, fields }: IntentUri): string {
  const scheme = fields.get('scheme')
  const rest = address.replace(/^intent:/, '')
  return scheme && rest.startsWith('//') ? `${scheme}:${rest}` : rest
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
