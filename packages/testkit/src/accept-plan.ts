import type { Database } from '@herald/db/store'
import { type AcceptedTask, acceptTasks } from '@herald/db/tasks'
import type { NewTask, Plan } from '@herald/domain'
import { sampleMessage } from './sample-message.ts'

/** Commits a task with this plan, as an accept does for a small audience. Its batches are released, unless they are `held` back. */
export async function acceptPlan(
  db: Database,
  appId: string,
  plan: Partial<Plan>,
  { held = false, ...task }: Partial<NewTask> & { held?: boolean } = {},
): Promise<AcceptedTask> {
  const [accepted] = await acceptTasks(db, [
    {
      task: {
        appId,
        audience: { kind: 'all' },
        strategy: 'ospush_only',
        sequence: ['ups', 'fcm'],
        message: sampleMessage(),
        ttl: 100,
        ...task,
      },
      plan: { batches: [], inbox: [], unreachable: 0, ...plan },
      mayRelease: () => !held,
    },
  ])
  return accepted!
}
