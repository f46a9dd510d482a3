import { createRequire, registerHooks } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { TestResult } from '@jest/test-result'
import type { Circus, Config } from '@jest/types'
import { openResources } from '../open-resources.ts'
import { type Globals, setGlobals } from './globals.ts'
import { createJestObject } from './jest-object.ts'
import type { SpecFile, SpecOutcome } from './spec-processes.ts'

const require = createRequire(import.meta.url)

process.on('message', async (file: SpecFile) => {
  const outcome = await run(file).then(
    (result) => ({ result }),
    (error) => ({ error: { code: error.code, message: error.message, stack: error.stack, type: 'Error' } }),
  )
  process.send?.({ ...outcome, memoryMb: process.memoryUsage.rss() / 2 ** 20 } satisfies SpecOutcome)
})
// The runner has no more spec files, or has ended. Timers and servers that a spec file left open must not keep the process.
process.once('disconnect', () => process.exit(0))
provideGlobals()

/** While tests run, jest's framework has listeners of its own instead of these. */
const lateErrors: string[] = []
for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, (error: unknown) => {
    lateErrors.push(error instanceof Error ? `${error.stack}` : String(error))
  })

/** Runs one spec file with jest's own framework (jest-circus), which needs only a small part of a jest runtime. */
async function run({ path, globalConfig, config }: SpecFile): Promise<TestResult> {
  // For people who look at the list of processes.
  process.title = `spec ${relative(config.rootDir, path)}`
  // Node shows 10 lines, which are often all of a library.
  Error.stackTraceLimit = 100
  leaveOut('@jest/transform')
  forgetFramework()
  const { jest, fakeTimers } = createJestObject(config)
  const variables = { ...process.env }
  // A failed spec often leaves resources open or errors behind; reporting them would hide the failure.
  let failed = false
  const environment = {
    global: globalThis,
    fakeTimersModern: fakeTimers,
    handleTestEvent(event: Circus.Event): void {
      if (event.name === 'hook_failure' || event.name === 'error') failed = true
      if (event.name === 'test_done' && event.test.errors.length > 0) failed = true
    },
  }
  const runtime = {
    requireInternalModule: require,
    requireModule: require,
    unstable_shouldLoadAsEsm: () => true,
    unstable_importModule: (module: string) => import(pathToFileURL(module).href),
    setGlobalsForRuntime: (globals: Omit<Globals, 'jest'>) =>
      setGlobals({ ...globals, jest: jest as Globals['jest'] }),
    enterTestCode: () => {},
    leaveTestCode: () => {},
  }
  const { default: runFramework } = require('jest-circus/runner') as { default: Framework }
  const start = Date.now()
  const result = await runFramework(globalConfig, config, environment, runtime, path)
  jest.useRealTimers().restoreAllMocks()
  // A timer that is due, or a rejection, and what the tests have left for the next two turns of the event loop.
  await sleep(0)
  for (let turn = 0; turn < 2; turn++) await nextTurn()
  const [late] = lateErrors.splice(0)
  if (late && !failed)
    throw new Error(
      `An error outside of the tests of this file, or of one before it in the same process: ${late}`,
    )
  restoreVariables(variables)
  process.exitCode = undefined
  const end = Date.now()
  const left = [...openResources().values()]
  if (left.length > 0 && !failed) throw new Error(`The spec file left open: ${left.join(', ')}`)
  const seconds = (end - start) / 1000
  return {
    ...result,
    // The compared values. The messages name them; a BigInt or a circular value could not be sent.
    testResults: result.testResults.map((one) => ({ ...one, failureDetails: [] })),
    leaks: false,
    perfStats: {
      ...result.perfStats,
      start,
      end,
      runtime: end - start,
      slow: seconds > config.slowTestThreshold,
    },
    skipped: result.testResults.length === result.numPendingTests,
    testFilePath: path,
  }
}

type Framework = (
  globalConfig: Config.GlobalConfig,
  config: Config.ProjectConfig,
  environment: object,
  runtime: object,
  path: string,
) => Promise<TestResult>

/** jest's snapshots load Babel with this package, and use it only if a project has a resolver of its own for snapshots. */
function leaveOut(name: string): void {
  const filename = require.resolve(name)
  require.cache[filename] = Object.assign(Object.create(null), {
    id: filename,
    filename,
    loaded: true,
    exports: {},
  })
}

/** jest's framework keeps hooks and tests of a file in its module, and its handlers and time limit on the global object. */
function forgetFramework(): void {
  delete require.cache[join(dirname(require.resolve('jest-circus/runner')), 'jestAdapterInit.js')]
  for (const name of ['EVENT_HANDLERS', 'TEST_TIMEOUT_SYMBOL'])
    Reflect.deleteProperty(globalThis, Symbol.for(name))
}

function restoreVariables(variables: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!(name in variables)) delete process.env[name]
  Object.assign(process.env, variables)
}

/** `@jest/globals` is only a name: what it exports is provided by the runner. */
function provideGlobals(): void {
  const url = new URL('./globals.ts', import.meta.url).href
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === '@jest/globals' ? { url, shortCircuit: true } : next(specifier, context),
  })
}
