import { createServer, type ServerHttp2Session } from 'node:http2'
import { listen } from '@herald/testkit'

const acceptedFirst = 11

/**
 * A vendor over HTTP/2 without TLS. On its first connection it accepts eleven requests and refuses all others. The replies to ten of the
 * accepted ones are held until the client has read `stopsAfter` refusals. On later connections it accepts everything.
 */
export async function startRefusingServer(options: {
  refusal: { status: number; body: object }
  stopsAfter: number
  tokenOf(path: string, body: string): string
}): Promise<{ url: string; accepted: string[]; requests(): number; close(): Promise<void> }> {
  const { refusal, stopsAfter, tokenOf } = options
  const sessions: ServerHttp2Session[] = []
  const accepted: string[] = []
  const held: (() => void)[] = []
  let requests = 0
  let refused = 0

  const server = createServer({ settings: { maxConcurrentStreams: 40 } })
  server.on('session', (session) => {
    sessions.push(session)
    session.on('error', () => {})
  })
  server.on('stream', (stream, headers) => {
    const reply = (status: number, text = '') => {
      if (stream.destroyed) return
      stream.respond({ ':status': status })
      stream.end(text)
    }
    const answer = (body: string) => {
      requests++
      const isFirst = stream.session === sessions[0]
      if (isFirst && requests > acceptedFirst) {
        // Not before the refusal is written: a PING is sent ahead of replies that still wait.
        stream.once('close', () => {
          refused++
          if (refused === stopsAfter) sessions[0]!.ping(() => held.forEach((go) => void go()))
        })
        reply(refusal.status, JSON.stringify(refusal.body))
        return
      }
      accepted.push(tokenOf(String(headers[':path']), body))
      if (isFirst && requests > 1) held.push(() => reply(200))
      else reply(200)
    }
    let body = ''
    stream.on('error', () => {})
    stream.setEncoding('utf8').on('data', (text) => {
      body += text
    })
    stream.on('end', () => answer(body))
  })
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    accepted,
    requests: () => requests,
    async close() {
      for (const session of sessions) session.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
