import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { shareReads } from '@herald/async'

/** The built console: every file by its path below `/console/`. */
export type Site = { index: string; assets: ReadonlyMap<string, Asset> }

export type Asset = {
  type: string
  body: Buffer
  /** Compressed by the build. */
  br?: Buffer
  gzip?: Buffer
  /** The name contains a hash of the content, so the file can be cached forever. */
  hashed: boolean
  etag: string
}

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.woff': 'font/woff',
}

const HASHED = /^assets\/.+-[\w-]{8,}\.\w+$/
const CHECK_MS = 1000

type Build = { builtAt?: number; site?: Site }

/**
 * Keeps the built console in memory: a few hundred kilobytes. Requests can only name files in the map, so no path escapes
 * the folder. A new build is seen within a second.
 */
export function openSite(folder: string): () => Promise<Site | undefined> {
  const builds = shareReads<string, Build>({
    maxAgeMs: CHECK_MS,
    async read(_folder, previous = {}) {
      const builtAt = (await stat(join(folder, 'index.html')).catch(() => undefined))?.mtimeMs
      if (builtAt === previous.builtAt) return previous
      // A build that is not complete is read again at the next check.
      return readSite(folder).then(
        (site) => ({ builtAt, site }),
        () => ({}),
      )
    },
  })
  return async () => (await builds.get(folder)).site
}

async function readSite(folder: string): Promise<Site> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = new Map<string, Buffer>()
  for (const entry of entries) {
    if (!entry.isFile() || entry.name.startsWith('.')) continue
    const path = join(entry.parentPath, entry.name)
    files.set(path.slice(folder.length).replaceAll('\\', '/').replace(/^\/+/, ''), await readFile(path))
  }
  const assets = new Map<string, Asset>()
  for (const [path, body] of files) {
    const type = types[extname(path)]
    if (type === undefined || path === 'index.html') continue
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
    const hashed = HASHED.test(path)
    assets.set(path, { type, body, br: files.get(`${path}.br`), gzip: files.get(`${path}.gz`), hashed, etag })
  }
  return { index: files.get('index.html')!.toString('utf8'), assets }
}
