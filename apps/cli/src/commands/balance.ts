import type { BalanceSize, Imbalance } from '@herald/db/readings'
import type { Command } from 'commander'
import { examples } from '../examples.ts'
import { CliFailure, reasonOf, SilentFailure } from '../failure.ts'
import { plural, table } from '../format.ts'
import { openShell, type Shell } from '../shell.ts'
import { balanceText } from '../task-format.ts'

export function addBalanceCommand(program: Command): void {
  program
    .command('balance')
    .description(
      'Check the counters: target = sent + failed + moved + expired + cancelled + pending, for every task and channel',
    )
    .addHelpText(
      'after',
      `
Reads the database (DATABASE_URL, or the Postgres of the standalone). Exit code 1 if a row does not balance.
${examples('balance', 'balance --json')}`,
    )
    .action(async (_flags: object, command: Command) => {
      const { io, withDatabase } = openShell(command)
      const { broken, ...size } = await readBalance(withDatabase)
      io.record({ balanced: broken.length === 0, ...size, broken })
      if (broken.length === 0) return io.say(balanceText(size))
      io.say(imbalanceTable(broken))
      io.say(`Out of balance: ${plural(broken.length, 'row')}.`)
      throw new SilentFailure()
    })
}

async function readBalance(
  withDatabase: Shell['withDatabase'],
): Promise<BalanceSize & { broken: Imbalance[] }> {
  const { countBalanced, findImbalances } = await import('@herald/db/readings')
  try {
    return await withDatabase(async (db) => ({
      broken: await findImbalances(db),
      ...(await countBalanced(db)),
    }))
  } catch (error) {
    if (error instanceof CliFailure) throw error
    throw new CliFailure(`The counters cannot be read: ${reasonOf(error)}.`)
  }
}

const columns = ['channel', 'target', 'sent', 'failed', 'moved', 'expired', 'cancelled', 'pending'] as const

function imbalanceTable(broken: Imbalance[]): string {
  return table(
    ['task', ...columns],
    broken.map((row) => [String(row.taskId), ...columns.map((column) => row[column])]),
  )
}
