import { isObject } from '../frame/fields.ts'
import { type SimCall, type SimReply, startSimServer } from '../frame/server.ts'
import type { Simulator } from '../simulator.ts'

export type AcmeApp = { appId: string; key: string }

export function startAcmeSimulator({ appId, key }: AcmeApp): Promise<Simulator> {
  const refused = (status: number, problem: string): SimReply => ({ status, body: { problem } })

  function send({ request, frame }: SimCall): SimReply {
    const body = request.json()
    if (!isObject(body) || !Array.isArray(body.tokens) || typeof body.title !== 'string')
      return refused(400, 'tokens and title are required')
    if (body.tokens.length > 100) return refused(400, 'at most 100 tokens')
    const alive = new Set(body.tokens.map(String).filter((token) => frame.isAlive(token)))
    const task = isObject(body.data) ? String(body.data.task_id) : undefined
    for (const token of alive) frame.accepted.record(task, token)
    return { body: { dead: body.tokens.filter((token) => !alive.has(String(token))) } }
  }

  return startSimServer({
    routes: { 'POST /send': { answer: send }, 'POST /check': { answer: () => ({ body: { dead: [] } }) } },
    authenticate: ({ request }) =>
      request.headers.authorization === `Rocket ${appId}:${key}`
        ? {}
        : { refused: refused(401, 'wrong key') },
    throttled: () => refused(429, 'slow down'),
    unavailable: () => refused(503, 'unavailable'),
  })
}
