import { fork, type Serializable } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export type Child<Request, Response, Ready = unknown> = {
  pid: number
  ready: Ready
  ask(request: Request): Promise<Response>
  stop(): Promise<void>
}

/**
 * Starts a program with fork. It sends one message when it is ready (`ready`) and one response per request, and exits when it
 * is disconnected. Requests are sent one at a time.
 */
export async function startChild<Request, Response, Ready = unknown>(
  file: URL,
  args: readonly string[] = [],
): Promise<Child<Request, Response, Ready>> {
  const child = fork(fileURLToPath(file), args)
  const exited = once(child, 'exit')
  const next = async <T>() => {
    const [message] = await Promise.race([
      once(child, 'message'),
      exited.then(([code]) => {
        throw new Error(`${file.pathname} exited with ${code} before it sent a message`)
      }),
    ])
    return message as T
  }
  let inTurn: Promise<unknown> = Promise.resolve()
  return {
    pid: child.pid!,
    ready: await next<Ready>(),
    ask(request) {
      const response = inTurn.then(() => {
        child.send(request as Serializable)
        return next<Response>()
      })
      inTurn = response.catch(() => {})
      return response
    },
    async stop() {
      if (child.connected) child.disconnect()
      await exited
    },
  }
}
