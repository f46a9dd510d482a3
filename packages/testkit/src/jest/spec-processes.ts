import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import type { SerializableError, Test, TestResult } from '@jest/test-result'
import type { Config } from '@jest/types'
import type { TestRunnerOptions, TestWatcher } from 'jest-runner'

export type SpecFile = { path: string; globalConfig: Config.GlobalConfig; config: Config.ProjectConfig }
export type SpecOutcome = { result: TestResult } | { error: SerializableError }

const program = join(import.meta.dirname, 'spec-process.ts')

/**
 * The runner of jest: one process of plain Node per spec file. jest's own runner evaluates the modules of every file in a new vm context,
 * where Node's compile cache does not apply, and keeps the memory of earlier files.
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
      for (let test = waiting.shift(); test && !watcher.isInterrupted(); test = waiting.shift()) {
        await onStart(test)
        const outcome = await this.run(test)
        if ('result' in outcome) await onResult(test, outcome.result)
        else await onFailure(test, outcome.error)
      }
    }
    await Promise.all(Array.from({ length: serial ? 1 : this.globalConfig.maxWorkers }, runInTurn))
  }

  private run({ path, context }: Test): Promise<SpecOutcome> {
    // The path is only for people who look at the list of processes.
    const child = fork(program, [path], { execArgv: ['--disable-warning=ExperimentalWarning'] })
    child.send({ path, globalConfig: this.globalConfig, config: context.config } satisfies SpecFile)
    return outcomeOf(child)
  }
}

function outcomeOf(child: ChildProcess): Promise<SpecOutcome> {
  return new Promise((resolve, reject) => {
    let outcome: SpecOutcome | undefined
    child.once('message', (message) => {
      outcome = message as SpecOutcome
    })
    child.once('error', reject)
    // Not before the exit, which ends the programs that the spec file started. `close` also comes after the last message; on a busy machine
    // `exit` may come before it.
    child.once('close', (code, signal) => {
      const message = `The process of the spec file ended with ${signal ?? code} before its tests did.`
      resolve(outcome ?? { error: { message, stack: message, type: 'Error' } as SerializableError })
    })
  })
}
