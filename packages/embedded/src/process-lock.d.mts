export type LockOwner = { pid: number; started: string | undefined; stopping?: true }

export type ProcessLock = {
  /** A child process that may outlive this one: the lock stays taken until it has ended too. */
  addOwner(pid: number): void
  /** Shown to waiting processes. */
  markStopping(): void
  release(): void
}

/** `onWait` is called before every pause while `owner` has the lock, and may throw to give up. Released at exit. */
export function takeLock(path: string, onWait: (owner: LockOwner) => void): Promise<ProcessLock>
export function processStart(pid: number): string | undefined
export function answersToSignals(pid: number): boolean
