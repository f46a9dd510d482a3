export type ShutdownDeps = {
  /** Stops everything in order. If it rejects or exceeds 30 seconds, the end is forced. */
  drain(): Promise<void>
  /** Stops what must not outlive the process, even while other parts are still running. */
  force(): Promise<void>
  /** Names of the parts that have not stopped yet. */
  late(): string[]
  say(sentence: string): void
  exit(code: number): void
}

const DRAIN_SECONDS = 30

/**
 * Returns the signal handler. The first signal drains; a second Ctrl-C or 30 seconds force the end. A second SIGTERM is
 * ignored: supervisors send it to the whole process group, and the bootstrap forwards its own copy.
 */
export function createShutdown(deps: ShutdownDeps): (signal: string) => void {
  let draining = false
  let forced = false
  let interruptAt = 0

  const force = (sentence: string) => {
    if (forced) return
    forced = true
    deps.say(sentence)
    void deps.force().finally(() => deps.exit(1))
  }
  return (signal) => {
    if (draining) {
      // The same Ctrl-C may arrive twice, from the terminal and from npm.
      if (signal === 'SIGINT' && performance.now() - interruptAt > 300) force('stopping immediately')
      return
    }
    draining = true
    interruptAt = performance.now()
    deps.say('stopping: work in progress may finish; press Ctrl-C again to stop immediately')
    const late = setTimeout(
      () => force(`${deps.late().join(', ') || 'something'} did not stop within ${DRAIN_SECONDS} s`),
      DRAIN_SECONDS * 1000,
    )
    deps.drain().then(
      () => {
        clearTimeout(late)
        if (!forced) deps.exit(0)
      },
      (error: Error) => force(`stopping failed: ${error.message}`),
    )
  }
}
