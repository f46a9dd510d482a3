/** What a browser says of where a request comes from; undefined where it says nothing. */
export type Provenance = {
  /** x-herald-console: no form or link can send it, and a script of another origin must ask first, which is refused. */
  console?: string
  origin?: string
  fetchSite?: string
  host?: string
}

/** Whether a browser says that the request was caused by another origin than the one it goes to. */
export function comesFromElsewhere(from: Provenance, publicUrl: string | undefined): boolean {
  if (from.fetchSite !== undefined && from.fetchSite !== 'same-origin') return true
  if (from.origin === undefined) return false
  if (!URL.canParse(from.origin)) return true
  const { origin, host } = new URL(from.origin)
  // A proxy in front may have changed the host on the way; the public address is ours under any name.
  const known = publicUrl !== undefined && new URL(publicUrl).origin === origin
  return !known && host !== from.host?.toLowerCase()
}

/**
 * Whether a request may rely on the session cookie, which browsers send along with whatever causes a request. Opening a
 * page cannot carry the header; so what only reads goes without it, also when the address was typed.
 */
export function mayUseSession(from: Provenance, publicUrl: string | undefined, reads = false): boolean {
  if (!reads) return from.console === '1' && !comesFromElsewhere(from, publicUrl)
  return from.fetchSite === 'none' || !comesFromElsewhere(from, publicUrl)
}
