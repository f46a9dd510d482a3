export type ShutdownDeps = {
  /** Ends everything in order; rejecting or taking too long counts as failed. */
  drain(): Promise<void>
  /** Ends what must not outlive the process, whatever else is still under way. */
  force(): Promise<void>
  /** Names of what has not ended yet. */
  late(): string[]
  say(sentence: string): void
  exit(code: number): void
}

const drainSeconds = 30

/**
 * What a signal does: the first one drains, a second Ctrl-C or 30 seconds force the end. A second SIGTERM changes nothing:
 * supervisors send it to the whole group, and the bootstrap passes its own copy on.
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
      if (signal === 'SIGINT' && performance.now() - interruptAt > 300) force('stopping at once')
      return
    }
    draining = true
    interruptAt = performance.now()
    deps.say('stopping: what is under way may finish; Ctrl-C again stops at once')
    const late = setTimeout(
      () => force(`${deps.late().join(', ') || 'something'} did not end within ${drainSeconds} s`),
      drainSeconds * 1000,
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
