import { createServer } from 'node:http'
import { sleep } from '@herald/async'
import { closeServer, listen } from '../servers.ts'
import { stepOf } from './script.ts'

export type StubServer = {
  url: string
  /** Whether the credentials of a channel are refused by checks that ask the server. */
  refuseChecks(channel: string, refused: boolean): void
  /** While a channel is down, every request to it gets `unavailable`, whatever its tokens say. */
  setDown(channel: string, down: boolean): void
  /** Requests to a channel are noted in the ledger, but not answered until the returned function is called. */
  hold(channel: string): () => void
  close(): Promise<void>
}

/** What the stub saw of one token in one task. */
export type StubEntry = {
  channel: string
  task: number
  token: string
  attempts: number
  accepted: number
  badge: number | null
}

/**
 * The stub vendor. Its responses are written in the tokens, and it keeps a ledger that counters are compared with:
 * `GET /ledger?task=N` lists the entries.
 */
export async function startStubServer(
  options: { port?: number; latencyMs?: number } = {},
): Promise<StubServer> {
  const ledger = new Map<string, StubEntry>()
  const refusing = new Set<string>()
  const down = new Set<string>()
  const held = new Map<string, Promise<void>>()

  const take = (channel: string, task: number, token: string, badge: number | null) => {
    const key = `${channel} ${task} ${token}`
    const entry = ledger.get(key) ?? { channel, task, token, attempts: 0, accepted: 0, badge: null }
    entry.attempts++
    const step = down.has(channel) ? 'unavailable' : stepOf(token, entry.attempts)
    if (step === 'accepted' || step === 'lost') {
      entry.accepted++
      entry.badge = badge
    }
    ledger.set(key, entry)
    return step
  }

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://stub')
    if (url.pathname === '/ledger') {
      const task = url.searchParams.get('task')
      const entries = [...ledger.values()].filter((entry) => task === null || entry.task === Number(task))
      response.end(JSON.stringify(entries))
      return
    }
    if (url.pathname.startsWith('/check/')) {
      response.end(
        JSON.stringify(refusing.has(url.pathname.slice('/check/'.length)) ? 'refused' : 'accepted'),
      )
      return
    }
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { task, tokens, badges } = JSON.parse(Buffer.concat(chunks).toString())
    const channel = url.pathname.slice('/send/'.length)
    const steps = (tokens as string[]).map((token, i) => take(channel, task, token, badges[i]))
    if (options.latencyMs) await sleep(options.latencyMs)
    await held.get(channel)
    if (steps.includes('hang')) return
    if (steps.includes('lost')) response.destroy()
    else response.end(JSON.stringify(steps))
  })
  return {
    url: `http://127.0.0.1:${await listen(server, options.port)}`,
    refuseChecks: (channel, refused) => void (refused ? refusing.add(channel) : refusing.delete(channel)),
    setDown: (channel, isDown) => void (isDown ? down.add(channel) : down.delete(channel)),
    hold(channel) {
      const { promise, resolve } = Promise.withResolvers<void>()
      held.set(channel, promise)
      return () => {
        held.delete(channel)
        resolve()
      }
    },
    close: () => closeServer(server),
  }
}
