/** One header field in a table. `malformed` marks names or values that HTTP/2 forbids but HPACK can encode. */
export type Entry = {
  readonly name: string
  readonly value: string
  readonly size: number
  readonly malformed: boolean
}

/** RFC 7541 section 4.1: bytes that each field counts in addition to its name and value. */
export const entryOverhead = 32

export function makeEntry(name: string, value: string, malformed = false): Entry {
  return { name, value, size: name.length + value.length + entryOverhead, malformed }
}

/** RFC 7541 appendix A, starting with index 1. `|` separates name and value. */
const rows = `:authority
:method|GET
:method|POST
:path|/
:path|/index.html
:scheme|http
:scheme|https
:status|200
:status|204
:status|206
:status|304
:status|400
:status|404
:status|500
accept-charset
accept-encoding|gzip, deflate
accept-language
accept-ranges
accept
access-control-allow-origin
age
allow
authorization
cache-control
content-disposition
content-encoding
content-language
content-length
content-location
content-range
content-type
cookie
date
etag
expect
expires
from
host
if-match
if-modified-since
if-none-match
if-range
if-unmodified-since
last-modified
link
location
max-forwards
proxy-authenticate
proxy-authorization
range
referer
refresh
retry-after
server
set-cookie
strict-transport-security
transfer-encoding
user-agent
vary
via
www-authenticate`

export const staticEntries: readonly Entry[] = rows.split('\n').map((row) => {
  const [name = '', value = ''] = row.split('|')
  return makeEntry(name, value)
})

export const staticCount = staticEntries.length

/** The entries of a name, with their indexes. At most seven. */
const byName = new Map<string, { index: number; value: string }[]>()
staticEntries.forEach(({ name, value }, at) => {
  const known = byName.get(name)
  if (known) known.push({ index: at + 1, value })
  else byName.set(name, [{ index: at + 1, value }])
})

/** Index of the first static entry with this name, or 0. */
export const findStaticName = (name: string): number => byName.get(name)?.[0]?.index ?? 0

/** Index of the static entry with this name and value, or 0. It compares: a map by both would join and hash a provider token each time. */
export function findStaticField(name: string, value: string): number {
  const entries = byName.get(name)
  if (entries !== undefined) for (const entry of entries) if (entry.value === value) return entry.index
  return 0
}
