import { type Channel, type Plan, publicName, targetsOf } from '@herald/domain'
import type { Context } from '@herald/program'
import { counter } from '@herald/telemetry'

/** Counts and logs what the rounds report. */
export function createReports({ registry, log }: Pick<Context, 'registry' | 'log'>) {
  const planned = counter(registry, 'herald_recipients_planned_total')
  const unreachable = counter(registry, 'herald_recipients_unreachable_total')
  const failures = counter(registry, 'herald_rounds_failed_total')
  const recipients = counter(registry, 'herald_recipients_total')
  let queueFailureLogged = false
  return {
    /** A failure of the queue is logged once per feed round. */
    onFeedRound() {
      queueFailureLogged = false
    },
    onQueueFailure(error: unknown, tasks?: number[]) {
      if (!queueFailureLogged)
        log.warn({ err: error, tasks }, 'could not enqueue jobs; batches will be re-enqueued')
      queueFailureLogged = true
    },
    onLoopError(error: unknown, transient: boolean, loop: string) {
      failures.inc({ cause: transient ? 'postgres' : 'error' })
      if (transient) log.warn({ err: error, loop }, 'Postgres is not available')
      else log.error({ err: error, loop }, 'a round failed')
    },
    onPlanningFailed(error: unknown, taskId: number) {
      failures.inc({ cause: 'task' })
      log.error({ err: error, task: taskId }, 'a task could not be planned; it will be retried')
    },
    onBegun: (taskId: number, large: boolean) =>
      log.info({ task: taskId }, large ? 'a large audience is being planned' : 'a task was planned'),
    onPlanned(plan: Plan) {
      for (const [channel, count] of targetsOf(plan)) planned.inc({ channel: publicName(channel) }, count)
      if (plan.unreachable > 0) unreachable.inc(plan.unreachable)
    },
    onEnded(channel: Channel, fate: string, count: number) {
      if (count > 0) recipients.inc({ channel: publicName(channel), fate }, count)
    },
    onUnreadable: (error: unknown) =>
      log.error({ err: error }, 'the certificates of an application cannot be read; its devices wait'),
  }
}
