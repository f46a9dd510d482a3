import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type ProcessLock, takeLock } from '@herald/embedded'

/** Why Herald cannot start; the message is one sentence for the person who started it. */
export class StartProblem extends Error {
  override name = 'StartProblem'
}

/** A supervisor may restart us so fast that the previous run has not handled its SIGTERM yet. */
const GRACE_MS = 1500
/** A drain takes at most 30 seconds. */
const STOPPING_MS = 40_000

/** Creates the data directory when missing and locks it for this process. Waits for a Herald that is stopping. */
export async function takeDataDirectory(
  dir: string,
  say: (sentence: string) => void = () => {},
): Promise<ProcessLock> {
  const began = performance.now()
  let announced = false
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    return await takeLock(join(dir, 'herald.lock'), ({ pid, stopping }) => {
      if (performance.now() - began > (stopping ? STOPPING_MS : GRACE_MS))
        throw new StartProblem(`The data directory ${dir} is in use by another Herald, process ${pid}.`)
      if (stopping && !announced) say(`waiting for process ${pid}, which is stopping`)
      announced ||= Boolean(stopping)
    })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw code ? new StartProblem(`The data directory ${dir} cannot be written (${code}).`) : error
  }
}
