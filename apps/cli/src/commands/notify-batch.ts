import type { Notification } from '@herald/client'
import type { Command } from 'commander'
import { sendLines } from '../device-batches.ts'
import { examples } from '../examples.ts'
import { SilentFailure } from '../failure.ts'
import { count } from '../format.ts'
import { openLines } from '../import-stream.ts'
import { openShell } from '../shell.ts'
import { textLines } from '../text-lines.ts'

/** Reasons that are printed. */
const MAX_SHOWN = 100

export function addNotifyBatchCommand(program: Command): void {
  program
    .command('notify-batch <file>')
    .description('Send many pushes from NDJSON, one body of notify per line, 1000 per call; - reads stdin')
    .addHelpText(
      'after',
      `
A line: {"audience":{"alias":["customer-17"]},"setting":{"request_id":"order-77"},"message":{"title":"Shipped"}}
With a request_id in each line the command can be repeated safely. Refused lines give exit code 1; the first 100 are printed.
${examples('notify-batch pushes.ndjson', 'notify-batch - --json < pushes.ndjson')}`,
    )
    .action(async (path: string, _flags: object, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const source = await openLines(path)
      const counts = { accepted: 0, repeated: 0, refused: 0 }
      let last = 0
      const refuse = (no: number, about: { code?: number; message: string }) => {
        if (counts.refused++ < MAX_SHOWN) io.note(`Line ${no}: ${about.message}`)
        io.record({ line: no, ...about })
      }
      try {
        await asAdmin((server) =>
          sendLines<Notification, Awaited<ReturnType<typeof server.notifyBatch>>[number]>(
            textLines(source.chunks),
            (notifications) => server.notifyBatch(notifications),
            {
              refused: ({ line, reason }) => refuse(line.no, { message: reason }),
              result({ no }, result) {
                if ('code' in result) return refuse(no, result)
                if (result.repeated) counts.repeated++
                else counts.accepted++
                io.record({ line: no, ...result })
              },
              sent({ no }) {
                last = no
              },
            },
          ),
        ).catch((error) => {
          io.note(
            `Lines up to ${count(last)} are done. Repeat the whole file only if its lines have a request_id.`,
          )
          throw error
        })
      } finally {
        await source.close()
      }
      io.say(
        `${count(counts.accepted)} accepted, ${count(counts.repeated)} repeated, ${count(counts.refused)} refused.`,
      )
      if (counts.refused > 0) throw new SilentFailure()
    })
}
