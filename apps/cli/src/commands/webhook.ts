import type { EventEntry, EventName, NewWebhook, WebhookView } from '@herald/client'
import { eventNames } from '@herald/domain'
import type { Command } from 'commander'
import { examples } from '../examples.ts'
import { CliFailure, UsageFailure } from '../failure.ts'
import { count, table, timestamp } from '../format.ts'
import { oneOf, readId, readTime, wholeNumber } from '../parse.ts'
import { openShell } from '../shell.ts'

type SetFlags = { events?: EventName[]; campaign?: string; rotateSecret?: true }

export function addWebhookCommands(program: Command): void {
  const webhook = program.command('webhook').description('Send events to your server')
  webhook
    .command('set <name> <url>')
    .description('Add a webhook, or change the one of this name; the secret of a new one is shown only once')
    .option(
      '--events <names>',
      `separated by commas: ${eventNames.join(', ')} (default: the saved ones, or all)`,
      (text: string) => text.split(',').map(oneOf(...eventNames)),
    )
    .option(
      '--campaign <name>',
      'only events of tasks of this campaign; "" removes it (default: the saved one)',
    )
    .option('--rotate-secret', 'replace the secret')
    .addHelpText(
      'after',
      examples(
        'webhook set crm https://crm.example.com/herald --events task.finished,device.failed',
        'webhook set spring https://crm.example.com/spring --campaign spring',
        'webhook set spring https://crm.example.com/new --campaign ""',
      ),
    )
    .action(async (name: string, url: string, flags: SetFlags, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const saved = await asAdmin(async (server) =>
        server.putWebhook(webhookOf(name, url, flags, await server.webhooks())),
      )
      io.record(saved)
      io.say(`webhook_id  ${saved.webhook_id}`)
      if (saved.secret === undefined) return
      io.say(`secret      ${saved.secret}`)
      io.note('Store the secret: it is not shown again.')
    })
  webhook
    .command('list')
    .description('List webhooks with state, backlog and last answer')
    .addHelpText('after', examples('webhook list'))
    .action(async (_flags: object, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const found = await asAdmin((server) => server.webhooks())
      for (const one of found) io.record(one)
      io.say(found.length === 0 ? 'There are no webhooks.' : table(webhookHead, found.map(webhookRow)))
      for (const { name, rest_reason: reason } of found)
        if (reason) io.note(`${name} is suspended: ${reason}.`)
    })
  webhook
    .command('test')
    .argument('<webhook_id>', 'as webhook list shows it', readId)
    .description('Send a test event now; a success resumes a suspended webhook')
    .addHelpText('after', examples('webhook test 3'))
    .action(async (id: bigint, _flags: object, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const answer = await asAdmin((server) => server.testWebhook(id))
      io.record(answer)
      if (!answer.ok) throw new CliFailure(`The test failed: ${answer.error}.`)
      io.say(`The server answered with status ${answer.status}.`)
    })
  webhook
    .command('replay')
    .argument('<webhook_id>', 'as webhook list shows it', readId)
    .description('Send events once more')
    .option('--since <time>', 'from this time on: Unix seconds or 2027-01-31T08:00Z', readTime)
    .option('--entry <id>', 'from this entry on')
    .addHelpText(
      'after',
      examples('webhook replay 3 --since 2027-01-31T08:00Z', 'webhook replay 3 --entry 245760000000000-0'),
    )
    .action(async (id: bigint, flags: { since?: number; entry?: string }, command: Command) => {
      const from = flags.entry ?? flags.since
      if (from === undefined || (flags.entry !== undefined && flags.since !== undefined))
        throw new UsageFailure('Use either --since or --entry.')
      const { io, asAdmin } = openShell(command)
      await asAdmin((server) => server.replayWebhook(id, from))
      io.record({ replayed: true })
      io.say('The events are sent once more.')
    })
  webhook
    .command('remove')
    .argument('<webhook_id>', 'as webhook list shows it', readId)
    .description('Remove a webhook')
    .addHelpText('after', examples('webhook remove 3'))
    .action(async (id: bigint, _flags: object, command: Command) => {
      const { io, asAdmin } = openShell(command)
      await asAdmin((server) => server.removeWebhook(id))
      io.record({ removed: true })
      io.say('The webhook was removed.')
    })

  program
    .command('event')
    .description('The stream of events')
    .command('list')
    .description('List events, oldest first')
    .option('--after <id>', 'only entries after this one')
    .option('--limit <number>', 'maximum number of entries', wholeNumber(1, 1000), 100)
    .addHelpText('after', examples('event list', 'event list --after 245760000000000-0 --limit 1000'))
    .action(async (flags: { after?: string; limit: number }, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const { list } = await asAdmin((server) => server.events(flags))
      for (const one of list) io.record(one)
      io.say(list.length === 0 ? 'There are no events.' : table(entryHead, list.map(entryRow)))
    })
}

/** Takes events and campaign from the saved webhook of this name if their flags are absent, because saving replaces both. Pure. */
function webhookOf(name: string, url: string, flags: SetFlags, webhooks: readonly WebhookView[]): NewWebhook {
  const saved = webhooks.find((one) => one.name === name)
  const campaign = flags.campaign ?? saved?.campaign
  return {
    name,
    url,
    events: flags.events ?? saved?.events ?? [...eventNames],
    ...(campaign && { campaign }),
    ...(flags.rotateSecret && { rotate_secret: true }),
  }
}

const webhookHead = ['webhook_id', 'name', 'state', 'backlog', 'sent', 'last answer', 'url']

function webhookRow(webhook: WebhookView): string[] {
  const answer = webhook.last_error ?? (webhook.last_status === null ? '-' : `status ${webhook.last_status}`)
  const backlog = `${webhook.backlog_exact ? '' : 'at least '}${count(webhook.backlog)}`
  return [
    String(webhook.webhook_id),
    webhook.name,
    webhook.state,
    backlog,
    count(webhook.sent),
    answer,
    webhook.url,
  ]
}

const entryHead = ['id', 'at', 'type', 'task', 'channel', 'device', 'code']

function entryRow(entry: EventEntry): string[] {
  return [
    entry.id,
    timestamp(entry.at),
    entry.type,
    entry.task_id === undefined ? '-' : String(entry.task_id),
    entry.channel ?? '-',
    entry.device_guid ?? '-',
    entry.code ?? '-',
  ]
}
