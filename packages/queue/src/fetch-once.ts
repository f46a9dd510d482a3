import type { IQueueBackend } from 'bullmq'

type Fetching = Pick<IQueueBackend, 'moveToActive' | 'waitForJob'>

/**
 * After each job BullMQ asks for another one and then waits until there may be jobs. On Redis taking a job sets the marker for which it
 * waits, so the wait ends at once and it asks again: three questions for one job, which cost more than the job's row does. On Postgres
 * the wait begins by asking whether a job is waiting. This leaves out the question before the wait, because the one after it finds the
 * same jobs. If that one finds a job, there is a backlog, and BullMQ asks without waiting until it is empty. `foundNone` is to be called
 * when a wait found no job: on Redis the question after the wait does.
 */
export function fetchOncePerWake<B extends Fetching>(backend: B): { backend: B; foundNone(): void } {
  const fetch = backend.moveToActive.bind(backend)
  const wait = backend.waitForJob.bind(backend)
  let hasWaited = false
  let jobsInARow = 0
  let leaveOut = false
  backend.waitForJob = async (...args) => {
    leaveOut = false
    const found = await wait(...args)
    hasWaited = true
    return found
  }
  backend.moveToActive = async (...args) => {
    if (leaveOut) {
      leaveOut = false
      return nothing
    }
    const isFirst = hasWaited
    hasWaited = false
    const next = await fetch(...args)
    jobsInARow = next[0] ? jobsInARow + 1 : 0
    leaveOut = isFirst && jobsInARow === 1
    return next
  }
  return {
    backend,
    foundNone() {
      jobsInARow = 0
    },
  }
}

/** What BullMQ gets from an empty queue. */
const nothing: Awaited<ReturnType<Fetching['moveToActive']>> = [null, '', 0, 0]
