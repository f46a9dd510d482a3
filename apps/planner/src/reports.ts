import { oncePerTask } from '@herald/db/native'
import { isConnectionLost } from '@herald/db/store'
import type { PlanningFailed } from '@herald/db/tasks'
import { type Channel, type Plan, publicName, targetsOf } from '@herald/domain'
import type { Context } from '@herald/program'
import { counter } from '@herald/telemetry'

/** Counts and logs what the rounds report. */
export function createReports({ registry, log }: Pick<Context, 'registry' | 'log'>) {
  const planned = counter(registry, 'herald_recipients_planned_total')
  const unreachable = counter(registry, 'herald_recipients_unreachable_total')
  const failures = counter(registry, 'herald_rounds_failed_total')
  const reopened = counter(registry, 'herald_certificates_reopened_total')
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
      // A statement: a lock was not granted, a limit was reached, or our own pool was busy. Postgres is there.
      const cause = !transient ? 'error' : isConnectionLost(error) ? 'postgres' : 'statement'
      failures.inc({ cause })
      if (cause === 'error') log.error({ err: error, loop }, 'a round failed')
      else if (cause === 'postgres') log.warn({ err: error, loop }, 'Postgres is not available')
      else log.warn({ err: error, loop }, 'a statement of a round failed; the round is repeated')
    },
    onPlanningFailed(error: PlanningFailed, expired: boolean) {
      failures.inc({ cause: 'task' })
      log.error(
        { err: error, task: error.taskId },
        `a task could not be planned; ${expired ? 'its deadline has passed' : 'it will be retried'}`,
      )
    },
    onBegun(tasks: { taskId: number; large: boolean }[]) {
      const idsOf = (size: boolean) => tasks.filter(({ large }) => large === size).map(({ taskId }) => taskId)
      const [small, large] = [idsOf(false), idsOf(true)]
      if (small.length > 0) log.info({ tasks: small }, 'tasks were planned')
      for (const task of large) log.info({ task }, 'a large audience is being planned')
    },
    onPlanned(plan: Plan) {
      for (const [channel, count] of targetsOf(plan)) planned.inc({ channel: publicName(channel) }, count)
      if (plan.unreachable > 0) unreachable.inc(plan.unreachable)
    },
    onEnded(channel: Channel, fate: string, count: number) {
      if (count > 0) recipients.inc({ channel: publicName(channel), fate }, count)
    },
    onReopened(certificateId: number, channel: Channel) {
      reopened.inc({ channel: publicName(channel), by: 'herald' })
      log.info(
        { certificateId, channel: publicName(channel) },
        'the vendor accepts the certificate again; its channel is enabled',
      )
    },
    onStillClosed: (certificateId: number, problem: string) =>
      log.warn({ certificateId, problem }, 'a closed certificate was checked and stays closed'),
    onUnreadable: (error: unknown, app: string) =>
      log.error({ err: error, app }, 'the certificates of an application cannot be read; its devices wait'),
    onUnreadableTask: oncePerTask((error) =>
      log.error(
        { err: error, task: error.taskId },
        'a task cannot be read; its messages on the native channel are not sent through another one',
      ),
    ),
  }
}
