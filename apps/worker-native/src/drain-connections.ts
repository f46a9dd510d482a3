import { sleep } from '@herald/async'
import type { Session } from './session.ts'

/** Sockets that have not closed after this are terminated. */
const CLOSE_MS = 2_000

/** Ends all sessions evenly over `ms`, and resolves when every socket is closed. */
export async function drainConnections(
  open: ReadonlySet<Session>,
  ms: number,
  end: (session: Session) => void,
): Promise<void> {
  const started = performance.now()
  const sessions = [...open]
  for (const [i, session] of sessions.entries()) {
    const wait = started + (ms * i) / sessions.length - performance.now()
    if (wait > 5) await sleep(wait)
    end(session)
  }
  const until = performance.now() + CLOSE_MS
  while (open.size > 0 && performance.now() < until) await sleep(20)
  for (const session of open) session.socket.terminate()
  while (open.size > 0) await sleep(5)
}
