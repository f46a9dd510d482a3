import { fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SerializableError, Test, TestResult } from '@jest/test-result'
import type { Config } from '@jest/types'
import type { TestRunnerOptions, TestWatcher } from 'jest-runner'

export type SpecFile = { path: string; globalConfig: Config.GlobalConfig; config: Config.ProjectConfig }
/** `memoryMb`: the resident memory of the process after the file. */
export type SpecOutcome = { memoryMb: number } & ({ result: TestResult } | { error: SerializableError })

const program = join(import.meta.dirname, 'spec-process.ts')

/**
 * The runner of jest: processes of plain Node that run one spec file after another. jest's own runner evaluates the modules of every file
 * in a new vm context, where Node's compile cache does not apply. With a process per file, loading modules and compiling them is more than
 * half of the CPU time of all specs.
 */
export default class SpecProcesses {
  readonly supportsEventEmitters = false
  private readonly globalConfig: Config.GlobalConfig

  constructor(globalConfig: Config.GlobalConfig) {
    this.globalConfig = globalConfig
  }

  async runTests(
    tests: Test[],
    watcher: TestWatcher,
    onStart: (test: Test) => Promise<void>,
    onResult: (test: Test, result: TestResult) => Promise<void>,
    onFailure: (test: Test, error: SerializableError) => Promise<void>,
    { serial }: TestRunnerOptions,
  ): Promise<void> {
    const waiting = [...tests]
    const runInTurn = async () => {
      let shared: SpecProcess | undefined
      for (let test = waiting.shift(); test && !watcher.isInterrupted(); test = waiting.shift()) {
        await onStart(test)
        const alone = needsOwnProcess(test.path)
        const specProcess = (alone ? undefined : shared) ?? startSpecProcess()
        const outcome = await specProcess.run({
          path: test.path,
          globalConfig: this.globalConfig,
          config: test.context.config,
        })
        const stays = !alone && passed(outcome) && !specProcess.isLarge()
        if (!stays) await specProcess.end()
        if (!alone) shared = stays ? specProcess : undefined
        if ('result' in outcome) await onResult(test, outcome.result)
        else await onFailure(test, outcome.error)
      }
      await shared?.end()
    }
    await Promise.all(Array.from({ length: serial ? 1 : this.globalConfig.maxWorkers }, runInTurn))
  }
}

/** For a file that measures the memory or the timers of its process, or changes the settings of V8. */
function needsOwnProcess(path: string): boolean {
  return /memoryUsage|node:v8|getActiveResourcesInfo|getTimerCount/.test(readFileSync(path, 'utf8'))
}

/** A file that failed may have left anything behind. */
function passed(outcome: SpecOutcome): boolean {
  return 'result' in outcome && outcome.result.numFailingTests === 0 && !outcome.result.testExecError
}

type SpecProcess = ReturnType<typeof startSpecProcess>

/** A process that is larger is ended, so that four of them leave room for the programs that specs start. */
const MAX_MEMORY_MB = 800

function startSpecProcess() {
  const child = fork(program, { execArgv: ['--disable-warning=ExperimentalWarning'] })
  let memoryMb = 0
  // `close` also comes after the last message; on a busy machine `exit` may come before it.
  const closed = new Promise<string>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve(`${signal ?? code}`))
  })
  closed.catch(() => {})
  const exited = new Promise((resolve) => child.once('exit', resolve))
  return {
    async run(file: SpecFile): Promise<SpecOutcome> {
      const reply = new Promise<SpecOutcome>((resolve) => {
        child.once('message', (message) => resolve(message as SpecOutcome))
      })
      // A process that has just ended is reported by `closed`.
      child.send(file, () => {})
      const outcome = await Promise.race([reply, closed])
      if (typeof outcome !== 'string') {
        memoryMb = outcome.memoryMb
        return outcome
      }
      const message = `The process of the spec file ended with ${outcome} before its tests did.`
      return { error: { message, stack: message, type: 'Error' } as SerializableError, memoryMb }
    },
    isLarge: () => memoryMb > MAX_MEMORY_MB,
    /** Also ends the programs that spec files started. */
    async end(): Promise<void> {
      if (child.connected) child.disconnect()
      // Node emits no `close` after this.
      await exited
    },
  }
}
