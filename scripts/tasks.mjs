/** Arguments for the pinned Node, by task. */
export const tasks = {
  start: ['apps/standalone/src/main.ts'],
  test: ['scripts/test.ts'],
  typecheck: ['scripts/check.ts', 'check:types'],
  lint: ['scripts/check.ts', 'check:lint', 'check:fences'],
  bench: ['bench/main.ts'],
  e2e: ['scripts/e2e.ts'],
  chaos: ['bench/chaos/main.ts'],
  herald: ['apps/cli/src/herald.ts'],
  simulators: ['packages/simulators/src/main.ts'],
  prepare: ['--eval', ''],
}

export const taskNames = Object.keys(tasks)
