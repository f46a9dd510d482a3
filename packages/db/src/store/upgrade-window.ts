import type { Runner } from './statement.ts'

/** True while processes of the previous release may run: they find tokens and keys by their clear text only. */
export const clearTextNeededSql = `EXISTS (SELECT 1 FROM upgrade_window WHERE name = 'clear-tokens' AND until > now())`

export async function isClearTextNeeded(runner: Runner): Promise<boolean> {
  const { rows } = await runner.query<{ needed: boolean }>(`SELECT ${clearTextNeededSql} AS needed`)
  return rows[0]!.needed
}
