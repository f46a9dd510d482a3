import { statSync } from 'node:fs'

type Test = { path: string }

/** Takes minutes by waiting for leases, servers and browsers, which its size does not show. */
const long = [
  'bench/chaos/test/drill',
  'packages/queue/test/outages',
  'apps/console/test/walk',
  'apps/standalone/test/standalone',
  'apps/api/test/hostile-flood',
  'apps/planner/test/adversity',
  'apps/standalone/test/demo',
]

/** Long specs first, then by size: a long one that begins last keeps one worker waiting for the other. */
export default class LongFirst {
  sort(tests: Test[]): Test[] {
    const rank = ({ path }: Test) => {
      const place = long.findIndex((name) => path.includes(name))
      return place < 0 ? long.length : place
    }
    return [...tests].sort((a, b) => rank(a) - rank(b) || statSync(b.path).size - statSync(a.path).size)
  }

  /** What jest asks of a sequencer beside the order. */
  allFailedTests = (tests: Test[]): Test[] => tests
  shard = (tests: Test[]): Test[] => tests
  cacheResults(): void {}
}
