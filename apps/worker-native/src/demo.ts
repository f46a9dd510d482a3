import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

type Page = { type: string; body: string }

const base = '/native/demo'
const policy =
  "default-src 'self'; connect-src 'self' ws: wss:; img-src https: http: data:; style-src 'unsafe-inline'; frame-ancestors 'self'"

/** Serves the demo page, a device in a browser that uses the client's sources. Returns false for other paths. */
export function serveDemo(request: IncomingMessage, response: ServerResponse): boolean {
  const path = request.url?.split('?')[0] ?? ''
  if (path !== base && !path.startsWith(`${base}/`)) return false
  const page = request.method === 'GET' || request.method === 'HEAD' ? findPage(path) : undefined
  if (!page) return false
  response.writeHead(200, {
    'content-type': `${page.type}; charset=utf-8`,
    'content-length': Buffer.byteLength(page.body),
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-cache',
  })
  response.end(request.method === 'HEAD' ? undefined : page.body)
  return true
}

let pages: Map<string, Page> | undefined

function findPage(path: string): Page | undefined {
  pages ??= readPages()
  return pages.get(path)
}

const sources = ['device.ts', 'device-memory.ts', 'device-message.ts', 'device-reconnect.ts', 'exact-json.ts']

/** The client has no build step: types are removed from its sources when they are served. */
function readPages(): Map<string, Page> {
  const own = (name: string) => readFileSync(join(import.meta.dirname, 'demo', name), 'utf8')
  const client = dirname(fileURLToPath(import.meta.resolve('@herald/client/device')))
  const script = 'text/javascript'
  return new Map([
    [base, { type: 'text/html', body: own('page.html') }],
    [`${base}/page.js`, { type: script, body: own('page.js') }],
    ...sources.map((name): [string, Page] => [
      `${base}/${name}`,
      { type: script, body: withoutTypes(readFileSync(join(client, name), 'utf8')) },
    ]),
  ])
}

function withoutTypes(source: string): string {
  // Node warns that this function is experimental.
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(source)
  } finally {
    process.emitWarning = emitWarning
  }
}
