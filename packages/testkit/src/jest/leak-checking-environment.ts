import type { Circus } from '@jest/types'
import { TestEnvironment } from 'jest-environment-node'
import { openResources } from '../open-resources.ts'

/** Fails a spec file that leaves a database or a process of the testkit open. */
export default class LeakCheckingEnvironment extends TestEnvironment {
  // A failed spec often leaves resources open; reporting them would hide the failure.
  private failed = false

  handleTestEvent(event: Circus.Event): void {
    if (event.name === 'hook_failure' || event.name === 'error') this.failed = true
    if (event.name === 'test_done' && event.test.errors.length > 0) this.failed = true
  }

  override async teardown(): Promise<void> {
    const left = [...openResources(this.global).values()]
    await super.teardown()
    if (left.length > 0 && !this.failed) throw new Error(`The spec file left open: ${left.join(', ')}`)
  }
}
