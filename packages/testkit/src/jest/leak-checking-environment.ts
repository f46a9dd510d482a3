import type { Circus } from '@jest/types'
import { TestEnvironment } from 'jest-environment-node'
import { openThings } from '../open-things.ts'

/** Fails a spec file that leaves a database, a server or a process of the testkit open. */
export default class LeakCheckingEnvironment extends TestEnvironment {
  // What a failed spec leaves open is a consequence, and reporting it would hide the failure.
  private failed = false

  handleTestEvent(event: Circus.Event): void {
    if (event.name === 'hook_failure' || event.name === 'error') this.failed = true
    if (event.name === 'test_done' && event.test.errors.length > 0) this.failed = true
  }

  override async teardown(): Promise<void> {
    const left = [...openThings(this.global).values()]
    await super.teardown()
    if (left.length > 0 && !this.failed) throw new Error(`The spec file left open: ${left.join(', ')}`)
  }
}
