import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Test, TestResult } from '@jest/test-result'
import type { Config } from '@jest/types'
import SpecProcesses from '../src/jest/spec-processes.ts'

let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'herald-specs-'))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

type Outcome = { failures: string[]; passed: number; text: string }

/** Runs spec files with these contents at the same time. */
async function run(...sources: string[]): Promise<Outcome[]> {
  const config = {
    rootDir: dir,
    fakeTimers: {},
    injectGlobals: true,
    setupFilesAfterEnv: [],
    slowTestThreshold: 5,
    snapshotSerializers: [],
    testMatch: [],
  } as unknown as Config.ProjectConfig
  const tests = sources.map((source, at) => {
    const path = join(dir, `${at}.spec.ts`)
    writeFileSync(path, `import { expect, it, jest } from '@jest/globals'\n${source}`)
    return { path, context: { config } } as unknown as Test
  })
  const outcomes = new Map<Test, Outcome>()
  const ofResult = ({ numPassingTests, testResults, failureMessage }: TestResult): Outcome => ({
    passed: numPassingTests,
    failures: testResults.filter(({ status }) => status === 'failed').map(({ title }) => title),
    text: failureMessage ?? '',
  })
  const runner = new SpecProcesses({ maxWorkers: sources.length, testTimeout: 60_000 } as Config.GlobalConfig)
  await runner.runTests(
    tests,
    { isInterrupted: () => false } as never,
    async () => {},
    async (test, result) => void outcomes.set(test, ofResult(result)),
    async (test, { message }) => void outcomes.set(test, { passed: 0, failures: [], text: message }),
    { serial: false },
  )
  return tests.map((test) => outcomes.get(test)!)
}

it('reports passed and failed tests with the line that failed', async () => {
  const [outcome] = await run(`
    it('adds', () => expect(1 + 1).toBe(2))
    it('fails', async () => expect(1 + 1).toBe(3))`)
  expect(outcome).toMatchObject({ passed: 1, failures: ['fails'] })
  expect(outcome!.text).toContain('0.spec.ts:4')
})

it('gives every spec file its own globals and modules', async () => {
  const source = `
    import { openResources } from '${import.meta.dirname}/../src/open-resources.ts'
    it('is alone', () => {
      expect(globalThis.seen).toBeUndefined()
      globalThis.seen = process.pid
    })`
  expect(await run(source, source)).toMatchObject([{ passed: 1 }, { passed: 1 }])
})

it('fails a file that leaves something of the testkit open, ends its process, or cannot be loaded', async () => {
  const [open, ended, broken, rejected] = await run(
    `import { openResources } from '${import.meta.dirname}/../src/open-resources.ts'
     it('opens', () => void openResources().set({}, 'database test_1'))`,
    `it('ends', () => process.exit(0))`,
    `import '${import.meta.dirname}/no-such-file.ts'`,
    `it('rejects', async () => { Promise.reject(new Error('nobody waits')); await new Promise((done) => setTimeout(done, 50)) })`,
  )
  expect(open!.text).toBe('The spec file left open: database test_1')
  expect(ended!.text).toBe('The process of the spec file ended with 0 before its tests did.')
  expect(broken!.text).toContain('no-such-file.ts')
  expect(rejected).toMatchObject({ passed: 0, failures: ['rejects'] })
})

it('fakes timers without stopping streams and sockets', async () => {
  const [outcome] = await run(`
    import { createServer, get } from 'node:http'
    it('waits an hour', async () => {
      const server = createServer((_, response) => response.end('here'))
      await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
      jest.useFakeTimers()
      let passed = false
      setTimeout(() => { passed = true }, 3_600_000)
      const response = await new Promise((resolve) => get({ port: server.address().port }, resolve))
      expect((await response.toArray()).join('')).toBe('here')
      expect(passed).toBe(false)
      await jest.advanceTimersByTimeAsync(3_600_000)
      expect(passed).toBe(true)
      jest.useRealTimers()
      server.close()
    })`)
  expect(outcome).toMatchObject({ passed: 1, text: '' })
})
