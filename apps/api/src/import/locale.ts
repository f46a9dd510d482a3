/** Checking a name takes microseconds, and most devices have one of a few. Callers choose the names, so the cache is limited. */
const MAX_CACHED = 2000
const locales = new Map<string, string>()
const timezones = new Set<string>()

/** Returns the canonical form of a language tag; undefined if it is not one. Android's form with underscores is accepted. */
export function canonicalLocale(text: string): string | undefined {
  const cached = locales.get(text)
  if (cached !== undefined) return cached
  try {
    const [locale] = Intl.getCanonicalLocales(text.replaceAll('_', '-'))
    if (locale !== undefined && locales.size < MAX_CACHED) locales.set(text, locale)
    return locale
  } catch {
    return undefined
  }
}

/** Offsets such as +08:00, which Intl accepts too, are not names. */
export function isTimezone(text: string): boolean {
  if (timezones.has(text)) return true
  if (!/^[A-Za-z]/.test(text)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: text })
  } catch {
    return false
  }
  if (timezones.size < MAX_CACHED) timezones.add(text)
  return true
}
