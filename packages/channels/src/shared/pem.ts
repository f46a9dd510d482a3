export type PemBlock = {
  label: string
  /** Lines such as `DEK-Info: AES-256-CBC,…`, by name. */
  headers: ReadonlyMap<string, string>
  body: Buffer
}

const begin = '-----BEGIN '
/** A certificate, its key and a chain; every further block is one more for OpenSSL to read. */
const maxBlocks = 20

/** Returns the blocks of a text, ignoring what is between them. Linear: an expression with a back-reference would be quadratic. */
export function pemBlocks(text: string): PemBlock[] {
  const blocks: PemBlock[] = []
  for (const part of text.split(begin).slice(1)) {
    const labelEnd = part.indexOf('-----')
    const label = part.slice(0, labelEnd)
    const end = part.indexOf(`-----END ${label}-----`, labelEnd + 5)
    if (labelEnd <= 0 || end < 0) continue
    blocks.push({ label, ...readContent(part.slice(labelEnd + 5, end)) })
    if (blocks.length === maxBlocks) break
  }
  return blocks
}

function readContent(content: string): Pick<PemBlock, 'headers' | 'body'> {
  const headers = new Map<string, string>()
  const lines = content.split('\n').filter((line) => {
    const colon = line.indexOf(':')
    if (colon >= 0) headers.set(line.slice(0, colon).trim(), line.slice(colon + 1).trim())
    return colon < 0
  })
  return { headers, body: Buffer.from(lines.join(''), 'base64') }
}
