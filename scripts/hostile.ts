import { join } from 'node:path'
import { root, runProgram } from './run-program.ts'

/** Sends all hostile requests, which takes minutes; `npm test` sends only some of them. */
const flags = ['--disable-warning=ExperimentalWarning']
const jest = [join(root, 'node_modules/jest/bin/jest.js'), 'apps/api/test/hostile-flood.spec.ts']
process.exitCode = await runProgram([...flags, ...jest], {
  env: { HOSTILE_REQUESTS: '98000', ...process.env },
})
