import { parseVerbatim } from '@herald/domain'
import { type IntentUri, parseIntentUri } from '../shared/intent-uri.ts'

/** Meizu can open an activity of the app by its class, or a URL. */
export type MeizuTarget =
  | { kind: 'activity'; activity: string; extras: Record<string, unknown> }
  | { kind: 'url'; url: string; extras: Record<string, unknown> }

/**
 * Reads an Android intent URI: an activity if it has a component, a URL if it has a scheme, otherwise undefined.
 */
export function readIntent(uri: string): MeizuTarget | undefined {
  const intent = parseIntentUri(uri)
  if (!intent) return isUrl(uri) ? { kind: 'url', url: uri, extras: {} } : undefined
  const extras = Object.fromEntries(intent.extras.map(({ kind, name, value }) => [name, typed(kind, value)]))
  const activity = activityOf(intent.fields.get('component'))
  if (activity) return { kind: 'activity', activity, extras }
  const url = urlOf(intent)
  return isUrl(url) ? { kind: 'url', url, extras } : undefined
}

/** `pkg/cls`; a class with a leading dot is relative to the package. Meizu needs the full class only. */
function activityOf(component: string | undefined): string | undefined {
  const [pkg, cls, ...more] = component?.split('/') ?? []
  if (!pkg || !cls || more.length > 0) return undefined
  return cls.startsWith('.') ? pkg + cls : cls
}

function urlOf({ address, fields }: IntentUri): string {
  const scheme = fields.get('scheme')
  const rest = address.replace(/^intent:/, '')
  return scheme && rest.startsWith('//') ? `${scheme}:${rest}` : rest
}

/** S string, B boolean, c character; all others are numbers and keep their digits. */
function typed(kind: string, value: string): unknown {
  if (kind === 'B') return value === 'true'
  if (kind === 'S' || kind === 'c') return value
  return /^-?(0|[1-9]\d{0,18})(\.\d{1,30})?$/.test(value) ? parseVerbatim(value) : value
}

function isUrl(url: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/./i.test(url) && !/^intent:/i.test(url)
}
