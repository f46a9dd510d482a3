import type { BalanceSize } from '@herald/db/readings'
import { count, plural } from './words.ts'

export function balanced({ tasks, rows, targets, pending }: BalanceSize): string {
  return `Balanced: ${plural(tasks, 'task')}, ${plural(rows, 'counter row')}, ${plural(targets, 'target')}, ${count(pending)} of them pending.`
}
