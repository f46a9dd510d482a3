import { countBalanced, findImbalances, openDatabase } from '@herald/db'
import { loadSettings, requireSetting, SettingsError } from '@herald/settings'

/** Checks the books: every task and channel must balance. Prints what does not and exits with 1. */
async function checkBalance(): Promise<boolean> {
  const db = openDatabase(requireSetting(loadSettings().settings, 'databaseUrl'), {
    max: 1,
    name: 'herald balance',
  })
  try {
    const broken = await findImbalances(db)
    for (const row of broken) process.stdout.write(`${JSON.stringify(row)}\n`)
    if (broken.length > 0) {
      process.stdout.write(`out of balance: ${broken.length} rows\n`)
      return false
    }
    const { tasks, rows, targets, pending } = await countBalanced(db)
    process.stdout.write(
      `balanced: ${tasks} tasks, ${rows} counter rows, ${targets} targets, ${pending} of them pending\n`,
    )
    return true
  } finally {
    await db.close()
  }
}

try {
  process.exitCode = (await checkBalance()) ? 0 : 1
} catch (error) {
  const { message } = error as Error
  process.stderr.write(
    error instanceof SettingsError ? `${message}\n` : `The balance cannot be read: ${message}\n`,
  )
  process.exitCode = 1
}
