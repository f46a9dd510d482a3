import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Failure } from '../codes.ts'
import type { Asset, Site } from './site.ts'

/**
 * Serves the built console below `/console/`. Not express.static, because the index needs a new nonce in every answer and
 * the build has already compressed the files.
 */
export function createConsolePages(site: () => Promise<Site | undefined>) {
  return async (request: IncomingMessage, response: ServerResponse, path: string): Promise<void> => {
    const wanted = wantedIn(path)
    if (wanted === undefined) throw missing(path)
    const built = await site()
    if (!built) return sendMissing(response)
    const asset = built.assets.get(wanted)
    if (asset) return sendAsset(request, response, asset)
    // A path with a dot is a file; anything else is routed by the console itself.
    if (wanted !== 'index.html' && wanted.includes('.')) throw missing(path)
    sendIndex(request, response, built.index)
  }
}

const missing = (path: string) => new Failure(40401, `The path ${path.slice(0, 200)} does not exist.`)

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this finds
const TRICKS = /[\u0000-\u001f\u007f\\]|\/\/|(?:^|\/)\.{1,2}(?:\/|$)/

/** Returns the decoded path below `/console/`; undefined for paths that no link of the console has. */
function wantedIn(path: string): string | undefined {
  try {
    const decoded = decodeURIComponent(path)
    return TRICKS.test(decoded) ? undefined : decoded.replace(/^\/console\//, '')
  } catch {
    return undefined
  }
}

function sendIndex(request: IncomingMessage, response: ServerResponse, index: string): void {
  const nonce = randomBytes(16).toString('base64')
  const body = index.replaceAll('__NONCE__', nonce)
  response.setHeader('content-security-policy', consolePolicy(nonce, request.headers.host))
  response.writeHead(200, {
    'content-type': 'text/html; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    // A nonce must not be used twice.
    'cache-control': 'no-store',
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

/** Allows sockets to every port of the page's host: a gateway may run next to the API. */
export function consolePolicy(nonce: string, host: string | undefined): string {
  const name = /^([\w.-]+)(?::\d+)?$/.exec(host ?? '')?.[1]
  const sockets = name === undefined ? [] : [`ws://${name}:*`, `wss://${name}:*`]
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    ["connect-src 'self'", ...sockets].join(' '),
    // The preview of a push shows pictures from any host.
    "img-src 'self' data: https:",
    "font-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join('; ')
}

function sendAsset(request: IncomingMessage, response: ServerResponse, asset: Asset): void {
  response.setHeader('cache-control', asset.hashed ? 'public, max-age=31536000, immutable' : 'no-cache')
  response.setHeader('etag', asset.etag)
  response.setHeader('vary', 'accept-encoding')
  if (request.headers['if-none-match'] === asset.etag) {
    response.writeHead(304).end()
    return
  }
  const [encoding, body] = encoded(asset, String(request.headers['accept-encoding'] ?? ''))
  if (encoding !== undefined) response.setHeader('content-encoding', encoding)
  response.writeHead(200, { 'content-type': asset.type, 'content-length': body.length })
  response.end(request.method === 'HEAD' ? undefined : body)
}

function encoded(asset: Asset, accepted: string): [encoding: string | undefined, body: Buffer] {
  const takes = (name: string) =>
    accepted.split(',').some((one) => {
      const [coding, quality] = one.split(';')
      return coding?.trim() === name && !/^\s*q=0(\.0*)?\s*$/.test(quality ?? '')
    })
  if (asset.br && takes('br')) return ['br', asset.br]
  if (asset.gzip && takes('gzip')) return ['gzip', asset.gzip]
  return [undefined, asset.body]
}

function sendMissing(response: ServerResponse): void {
  const body = sentencePage(
    'The console is not built',
    'Build it with: node scripts/bootstrap.mjs prepare. The HTTP interface works without it.',
  )
  response
    .writeHead(503, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    .end(body)
}

/** A page with one sentence, for a browser. */
export function sentencePage(title: string, sentence: string): string {
  const shown = sentence.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><style>${sentenceStyle}</style></head>
<body><main><h1>${title}</h1><p>${shown}</p><p><a href="/console/">Open the console</a></p></main></body></html>
`
}

const sentenceStyle = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0;min-height:100vh;display:grid;place-items:center;background:light-dark(#f5f7f8,#1a1b1e)}
main{max-width:26rem;margin:1rem;padding:2rem;border:1px solid light-dark(#dee2e6,#43474d);border-radius:8px;background:light-dark(#fff,#242529)}
h1{font-size:1.3rem;margin:0}a{color:light-dark(#075862,#79c5cb)}`
