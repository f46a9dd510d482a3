import { type Metrics, rounded } from '../metric.ts'

/** The same figures of an empty and of a loaded database, taken one after the other. */
export type Round = { empty: Metrics; loaded: Metrics }

/** The most that a figure may cost more in a loaded database. */
export const LIMIT = 1.15

const PER_START = 'ms per start'

/** Units of figures of which more is better. Of all others less is better. */
const rates = new Set(['requests/s', 'devices/s', 'tasks/s', 'receipts/s'])

/** Counts and comparisons do not say what something costs. What a start costs grows with the days that are kept, and is shown as it is. */
const compared = (unit: string) => !['times', 'connections', 'devices', PER_START].includes(unit)

/**
 * How many times more each figure costs in the loaded database: above 1 it is slower, or takes more CPU time, memory or WAL. It is the
 * median of the rounds; each round compares two runs that follow each other, so that both have the same machine. A run that was disturbed,
 * or a lucky one, changes one round.
 */
export function loadedRatios(rounds: readonly Round[]): Metrics {
  const ratios: Metrics = {}
  for (const [name, { unit }] of Object.entries(rounds[0]?.empty ?? {})) {
    if (!compared(unit)) continue
    const pairs = rounds.map(({ empty, loaded }) => ({
      empty: empty[name]!.value,
      loaded: loaded[name]!.value,
    }))
    const costs = pairs.map(({ empty, loaded }) => (rates.has(unit) ? empty / loaded : loaded / empty))
    // A figure of zero, such as CPU time below the resolution of the clock.
    if (!costs.every((cost) => Number.isFinite(cost) && cost > 0)) continue
    const [loaded, empty] = (['loaded', 'empty'] as const).map((kind) =>
      rounded(median(pairs.map((pair) => pair[kind]))).toLocaleString('en'),
    )
    ratios[`${name}_loaded_ratio`] = {
      value: rounded(median(costs)),
      unit: 'times',
      note: `${loaded} against ${empty} ${unit} in an empty database; by round: ${costs.map(rounded).join(', ')}`,
    }
  }
  return ratios
}

/** The figures of a start, as they are in the loaded database. */
export function startFigures(rounds: readonly Round[]): Metrics {
  const figures: Metrics = {}
  for (const [name, { unit, note }] of Object.entries(rounds[0]?.loaded ?? {})) {
    if (unit !== PER_START) continue
    const [loaded, empty] = (['loaded', 'empty'] as const).map((kind) =>
      rounded(mean(rounds.map((round) => round[kind][name]!.value))),
    )
    figures[`${name}_loaded`] = { value: loaded!, unit, note: `${empty} in an empty database; ${note}` }
  }
  return figures
}

/** Each figure is taken at least this often in both databases. */
const MIN_ROUNDS = 2

/** Whether to take the figures again: a ratio above the limit may be due to the machine, until the last of `max` rounds. */
export function needsAnotherRound(rounds: readonly Round[], max: number): boolean {
  if (rounds.length < Math.min(MIN_ROUNDS, max)) return true
  return rounds.length < max && aboveLimit(loadedRatios(rounds)).length > 0
}

/** Names of the ratios above the limit. */
export function aboveLimit(ratios: Metrics, limit = LIMIT): string[] {
  return Object.entries(ratios)
    .filter(([, { value, unit }]) => unit === 'times' && value > limit)
    .map(([name]) => name)
}

/** Of an even number the geometric mean of the two in the middle: twice as slow weighs like twice as fast. */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const [low, high] = [sorted[(sorted.length - 1) >> 1]!, sorted[sorted.length >> 1]!]
  return low === high ? low : Math.sqrt(low * high)
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
