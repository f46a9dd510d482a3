/** What a browser says about the origin of a request; undefined where it says nothing. */
export type Provenance = {
  /**
   * x-herald-console. Forms and links cannot send it, and a script of another origin needs a CORS preflight, which fails.
   */
  console?: string
  origin?: string
  fetchSite?: string
  host?: string
}

/** Returns whether the browser reports an origin other than the one the request goes to. */
export function comesFromElsewhere(from: Provenance, publicUrl: string | undefined): boolean {
  if (from.fetchSite !== undefined && from.fetchSite !== 'same-origin') return true
  if (from.origin === undefined) return false
  if (!URL.canParse(from.origin)) return true
  const { origin, host } = new URL(from.origin)
  // A proxy may have changed the header Host, so the public address is accepted too.
  const known = publicUrl !== undefined && new URL(publicUrl).origin === origin
  return !known && host !== from.host?.toLowerCase()
}

/**
 * Returns whether a request may use the session cookie, which browsers attach to every request to this host. Navigating to
 * a page cannot send the console header, so pages that only read do without it, also when the address was typed.
 */
export function mayUseSession(from: Provenance, publicUrl: string | undefined, reads = false): boolean {
  if (!reads) return from.console === '1' && !comesFromElsewhere(from, publicUrl)
  return from.fetchSite === 'none' || !comesFromElsewhere(from, publicUrl)
}
