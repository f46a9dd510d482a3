import { HeraldError, type HeraldServer, type Message, type TaskView } from '@herald/client'
import { shownTaskStates } from '@herald/domain'
import { type Command, Option } from 'commander'
import { channelsOf } from '../channel-counters.ts'
import { examples } from '../examples.ts'
import { CliFailure, SilentFailure } from '../failure.ts'
import { duration, table, timestamp } from '../format.ts'
import { gather, readId, readObject, wholeNumber } from '../parse.ts'
import { percent } from '../progress.ts'
import { openShell } from '../shell.ts'
import { channelTable } from '../task-format.ts'
import { watchTask } from '../watch-task.ts'
import { addHistoryCommands } from './task-history.ts'

export function addTaskCommands(program: Command): void {
  const task = program.command('task').description('List, inspect and control tasks')
  addWatch(task)
  addList(task)
  addDetail(task)
  addRequest(task)
  addFailures(task)
  addHistoryCommands(task)
  addRecall(task)
  addControl(task, 'pause', 'Pause a task', 'paused', (server, id) => server.pauseTask(id))
  addControl(task, 'resume', 'Resume a paused task', 'resumed', (server, id) => server.resumeTask(id))
  addControl(
    task,
    'cancel',
    'Cancel a task: devices not sent to yet are skipped',
    'being cancelled',
    (server, id) => server.cancelTask(id),
  )
}

type RecallFlags = { replace?: Message; requestId?: string; dryRun?: true }

function addRecall(task: Command): void {
  task
    .command('recall')
    .argument('<task_id>', 'task', readId)
    .description(
      'Take a push back, or put another message in its place; --dry-run shows what each channel can do',
    )
    .option('--replace <json>', 'message object that takes its place', readObject)
    .option('--request-id <id>', 'deduplication id: a repeated one does nothing')
    .option('--dry-run', 'change nothing')
    .addHelpText(
      'after',
      examples(
        'task recall 1234 --dry-run',
        'task recall 1234',
        `task recall 1234 --replace '{"title":"Corrected","body":"The sale begins on Monday"}'`,
      ),
    )
    .action(async (id: bigint, flags: RecallFlags, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const recall = await asAdmin((server) =>
        server.recallTask(id, {
          ...(flags.replace && { replace: flags.replace }),
          ...(flags.requestId && { request_id: flags.requestId }),
          ...(flags.dryRun && { dry_run: true }),
        }),
      )
      io.record(recall)
      const rows = recall.channels.map(({ channel, devices, can, does, reason }) => [
        channel,
        devices,
        can,
        does,
        reason ?? '',
      ])
      io.say(
        rows.length === 0
          ? 'It was not sent to any device.'
          : table(['channel', 'devices', 'can', 'does', 'reason'], rows),
      )
      if (recall.task_id !== null)
        io.say(
          `task_id  ${recall.task_id}${recall.repeated ? ' (request_id repeated: nothing was done)' : ''}`,
        )
    })
}

function addWatch(task: Command): void {
  task
    .command('watch')
    .argument('<task_id>', 'as returned by notify', readId)
    .description('Watch a task until it has finished; exit code 1 if it was cancelled')
    .option('--timeout <seconds>', 'stop watching after this time', wholeNumber(1))
    .option('--offline', 'also wait for offline devices, whose messages are in their inboxes')
    .addHelpText('after', examples('task watch 1234', 'task watch 1234 --json --timeout 60'))
    .action(async (id: bigint, flags: { timeout?: number; offline?: true }, command: Command) => {
      const { io, asAdmin } = openShell(command)
      await asAdmin((server) =>
        watchTask({ server, io }, id, { seconds: flags.timeout, offline: flags.offline }),
      )
    })
}

type ListFlags = {
  limit: number
  before?: bigint
  state?: string
  campaign?: string
  requestId?: string
  title?: string
  minTarget?: number
  broadcasts?: true
}

function addList(task: Command): void {
  task
    .command('list')
    .description('List tasks, newest first')
    .option('--limit <number>', 'maximum number of tasks', wholeNumber(1, 1000), 20)
    .option('--before <task_id>', 'only tasks older than this one', readId)
    .addOption(new Option('--state <name>', 'only tasks in this state').choices(shownTaskStates))
    .option('--campaign <name>', 'only tasks of this campaign')
    .option('--request-id <id>', 'only the task that used this deduplication id')
    .option('--title <text>', 'only tasks with this text in their title')
    .option('--min-target <devices>', 'only tasks with at least this number of targets', wholeNumber(1))
    .option('--broadcasts', 'no pushes to single devices')
    .addHelpText(
      'after',
      examples('task list', 'task list --state sending --limit 100', 'task list --campaign spring'),
    )
    .action(async ({ requestId, minTarget, ...flags }: ListFlags, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const { list, next } = await asAdmin((server) =>
        server.taskList({
          ...flags,
          ...(requestId && { request_id: requestId }),
          ...(minTarget && { min_target: minTarget }),
        }),
      )
      for (const one of list) io.record(one)
      io.say(list.length === 0 ? 'There are no tasks.' : table(head, list.map(rowOf)))
      if (next !== null) io.note(`More tasks: --before ${next}`)
    })
}

const head = [
  'task_id',
  'state',
  'title',
  'created',
  'done',
  'target',
  'sent',
  'received',
  'clicked',
  'failed',
  'expired',
  'cancelled',
  'ETA',
]

/** A row of the list. Cancelled and expired targets are not done. */
export function rowOf(task: TaskView): (string | number)[] {
  return [
    String(task.task_id),
    task.state,
    shorten(task.title ?? '-'),
    timestamp(task.created_at),
    task.target === 0 && task.state === 'finished' ? '100%' : percent(task.sent + task.failed, task.target),
    task.target,
    task.sent,
    task.received,
    task.clicked,
    task.failed,
    task.expired,
    task.cancelled,
    task.finished_at !== null || task.eta === null ? '-' : duration(task.eta),
  ]
}

const shorten = (text: string) => (text.length > 24 ? `${text.slice(0, 23)}…` : text)

function addRequest(task: Command): void {
  task
    .command('request')
    .argument('<task_id>', 'task', readId)
    .description('Show message, audience, settings and sender of a task, as a body that can be sent again')
    .addHelpText('after', examples('task request 1234'))
    .action(async (id: bigint, _flags: object, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const found = await asAdmin((server) => server.taskRequest(id))
      io.record(found)
      const { actor, address, created_at, group_id, body } = found
      io.note(
        `Sent by ${actor ?? 'an unknown caller'}${address ? ` from ${address}` : ''}, ${timestamp(created_at)}.`,
      )
      if (group_id !== null && body !== null)
        io.note(
          `It was sent to the group ${group_id} only. Send the body with the header group_id: ${group_id}, or it addresses the whole application.`,
        )
      if (found.tokens_lost > 0)
        io.note(`${found.tokens_lost} push tokens are missing: no device has them any more.`)
      io.say(body ?? 'The task is a recall.')
    })
}

function addDetail(task: Command): void {
  task
    .command('detail')
    .argument('<task_id...>', 'one or more', gather(readId))
    .description('Show counters by channel')
    .addHelpText('after', examples('task detail 1234', 'task detail 1234 1235 --json'))
    .action(async (ids: bigint[], _flags: object, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const found = await asAdmin((server) => server.taskDetail(ids))
      for (const one of found) {
        io.record(one)
        if (ids.length > 1) io.say(`task ${one.task_id}`)
        const rows = channelsOf(one)
        io.say(rows.length === 0 ? 'No device has been assigned to a channel.' : channelTable(rows))
      }
      const known = new Set(found.map(({ task_id }) => BigInt(task_id)))
      const unknown = ids.filter((id) => !known.has(id))
      if (unknown.length > 0)
        throw new CliFailure(
          unknown.length === 1
            ? `The task ${unknown[0]} does not exist.`
            : `The tasks ${unknown.join(', ')} do not exist.`,
        )
    })
}

function addFailures(task: Command): void {
  task
    .command('failures')
    .argument('<task_id>', 'task', readId)
    .description('List why devices failed or wait, by channel and reason, with sample devices')
    .addHelpText('after', examples('task failures 1234'))
    .action(async (id: bigint, _flags: object, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const groups = await asAdmin((server) => server.taskFailures(id))
      for (const group of groups) io.record(group)
      if (groups.length === 0) return io.say('No failures, and nothing waits.')
      const rows = groups.map(({ channel, fate, code, reason, count, samples, next_attempt_at: next }) => [
        channel,
        fate,
        count,
        code ?? '',
        reason,
        next === null ? '-' : timestamp(next),
        samples.map(({ device_guid, device_id }) => device_guid ?? String(device_id)).join(', '),
      ])
      io.say(table(['channel', 'fate', 'devices', 'code', 'reason', 'next attempt', 'sample devices'], rows))
    })
}

function addControl(
  task: Command,
  verb: string,
  about: string,
  done: string,
  call: (server: HeraldServer, id: bigint) => Promise<void>,
): void {
  task
    .command(verb)
    .argument('<task_id...>', 'one or more', gather(readId))
    .description(about)
    .addHelpText('after', examples(`task ${verb} 1234`))
    .action(async (ids: bigint[], _flags: object, command: Command) => {
      const { io, asAdmin } = openShell(command)
      let refused = false
      await asAdmin(async (server) => {
        for (const id of ids) {
          const problem = await call(server, id).then(
            () => null,
            (error) =>
              ids.length > 1 && error instanceof HeraldError ? error.message : Promise.reject(error),
          )
          refused ||= problem !== null
          io.record({ task_id: id, ok: problem === null, problem })
          if (problem === null) io.say(`The task ${id} is ${done}.`)
          else io.note(problem)
        }
      })
      if (refused) throw new SilentFailure()
    })
}
