import { join } from 'node:path'
import { root, runProgram } from './run-program.ts'

/** Sends all hostile requests, which takes minutes; `npm test` sends only some of them. */
const flags = ['--disable-warning=ExperimentalWarning']
const specs = ['apps/api/test/hostile-flood.spec.ts', 'apps/api/test/generated.spec.ts']
const jest = [join(root, 'node_modules/jest/bin/jest.js'), '--runInBand', ...specs]
process.exitCode = await runProgram([...flags, ...jest], {
  env: { HOSTILE_REQUESTS: '98000', GENERATED_RUNS: '40', ...process.env },
})
