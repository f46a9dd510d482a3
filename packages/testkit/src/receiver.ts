import { createServer } from 'node:http'
import { closeServer, listen } from './servers.ts'

export type ReceivedPost = { path: string; headers: Record<string, string>; body: Buffer }

export type Receiver = {
  url: string
  posts: ReceivedPost[]
  /** Resolves when `enough` is true for the posts so far; rejects after `limitMs`. */
  until(enough: (posts: ReceivedPost[]) => boolean, limitMs?: number): Promise<void>
  close(): Promise<void>
}

/** Receives a vendor's callbacks: stores them and replies 200. */
export async function startReceiver(): Promise<Receiver> {
  const posts: ReceivedPost[] = []
  const waiting = new Set<() => void>()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    posts.push({
      path: request.url ?? '',
      headers: request.headers as Record<string, string>,
      body: Buffer.concat(chunks),
    })
    response.end()
    for (const look of waiting) look()
  })
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    posts,
    until: (enough, limitMs = 60_000) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(look)
          reject(new Error(`only ${posts.length} posts after ${limitMs} ms`))
        }, limitMs)
        const look = () => {
          if (!enough(posts)) return
          clearTimeout(timer)
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
    close: () => closeServer(server),
  }
}
