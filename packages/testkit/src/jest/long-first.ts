import { statSync } from 'node:fs'

type Test = { path: string }

/** These take minutes although the files are small, because they wait for leases, servers and browsers. */
const long = [
  'apps/api/test/hostile-flood',
  'bench/chaos/test/drill',
  'apps/planner/test/vendor-recovers',
  'packages/queue/test/outages',
  'apps/console/test/day',
  'apps/console/test/shell',
  'apps/console/test/sending',
  'apps/console/test/history',
  'apps/console/test/figures',
  'apps/console/test/credentials',
  'apps/standalone/test/standalone.spec',
  'apps/cli/test/command-line',
  'apps/standalone/test/demo.spec',
  'apps/worker-native/test/strategies',
  'apps/planner/test/adversity',
  'bench/loaded/test/run',
]

/** Runs long specs first, then by size: a long one started last would leave the other jest workers idle. */
export default class LongFirst {
  sort(tests: Test[]): Test[] {
    const rank = ({ path }: Test) => {
      const index = long.findIndex((name) => path.includes(name))
      return index < 0 ? long.length : index
    }
    return [...tests].sort((a, b) => rank(a) - rank(b) || statSync(b.path).size - statSync(a.path).size)
  }

  /** The rest of jest's sequencer interface. */
  allFailedTests = (tests: Test[]): Test[] => tests
  shard = (tests: Test[]): Test[] => tests
  cacheResults(): void {}
}
