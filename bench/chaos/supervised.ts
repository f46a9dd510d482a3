import { startProcess } from '@herald/testkit'

export type Supervised = {
  name: string
  /** kill -9; the supervisor starts it anew at once. */
  kill(): Promise<void>
  /** SIGTERM and no new start. */
  stop(): Promise<void>
  restarts(): number
  output(): string
}

/** A process that is started again whenever it ends, as any deployment would. */
export function supervise(name: string, args: string[], env: Record<string, string>): Supervised {
  let stopped = false
  let restarts = 0
  let output = ''
  let current = start()

  function start() {
    const running = startProcess(process.execPath, args, { env })
    running.exited.then(
      () => {
        output = `${output}${running.output()}`.slice(-200_000)
        if (stopped) return
        restarts++
        current = start()
      },
      () => {},
    )
    return running
  }

  return {
    name,
    restarts: () => restarts,
    output: () => output + current.output(),
    async kill() {
      await current.stop('SIGKILL')
    },
    async stop() {
      stopped = true
      await current.stop('SIGTERM')
    },
  }
}
