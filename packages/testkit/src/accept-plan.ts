import type { Database } from '@herald/db/store'
import { type AcceptedTask, acceptTasks } from '@herald/db/tasks'
import { defaultSequence, type NewTask, type Plan } from '@herald/domain'
import { sampleMessage } from './sample-message.ts'

/** Commits a task with this plan, as for a small audience. Its batches are released by default. */
export async function acceptPlan(
  db: Database,
  appId: string,
  plan: Partial<Plan>,
  { released = true, ...task }: Partial<NewTask> & { released?: boolean } = {},
): Promise<AcceptedTask> {
  const [accepted] = await acceptTasks(db, [
    {
      task: {
        appId,
        audience: { kind: 'all' },
        strategy: 'ospush_only',
        sequence: [...defaultSequence],
        message: sampleMessage(),
        ttl: 100,
        ...task,
      },
      plan: { batches: [], inbox: [], unreachable: 0, ...plan },
      mayRelease: () => released,
    },
  ])
  return accepted!
}
