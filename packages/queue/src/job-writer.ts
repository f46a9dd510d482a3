import { CoalesceFull, CoalesceTimeout, coalesce } from '@herald/async'
import { asUnavailable, QueueUnavailable } from './errors.ts'

/**
 * Adds single jobs in bulk. Throws QueueUnavailable within `limitMs` whatever the server does, and at once while `maxGroups`
 * groups wait to be stored.
 */
export function createJobWriter<Job>(options: {
  label: string
  limitMs: number
  store: (jobs: Job[]) => Promise<unknown>
  maxItems?: number
  maxGroups?: number
}): (job: Job) => Promise<void> {
  const { label, limitMs, store, maxItems = 500, maxGroups = 40 } = options
  const jobs = coalesce<Job>({ write: store as (jobs: Job[]) => Promise<void>, maxItems, maxGroups, limitMs })
  return async (job) => {
    try {
      await jobs.add(job)
    } catch (error) {
      if (error instanceof CoalesceTimeout)
        throw new QueueUnavailable(`${label} did not answer within ${limitMs} ms`)
      if (error instanceof CoalesceFull)
        throw new QueueUnavailable(`${label} is behind: ${maxGroups * maxItems} jobs wait to be stored`)
      throw asUnavailable(error, `${label} cannot be written to`)
    }
  }
}
