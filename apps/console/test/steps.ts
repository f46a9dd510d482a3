import { it } from '@jest/globals'

/** Tests that continue where the previous one ended. After a failed step the others fail at once instead of waiting for their timeouts. */
export function createSteps(): (name: string, run: () => Promise<void> | void) => void {
  let failed = false
  return (name, run) =>
    it(name, async () => {
      if (failed) throw new Error('An earlier step failed.')
      failed = true
      await run()
      failed = false
    })
}
