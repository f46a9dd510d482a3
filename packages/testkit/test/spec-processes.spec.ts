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
const run = (...sources: string[]) => runFiles(sources, sources.length)
/** One after the other, so that they share a process. */
const runInTurn = (...sources: string[]) => runFiles(sources, 1)

async function runFiles(sources: string[], maxWorkers: number): Promise<Outcome[]> {
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
  const runner = new SpecProcesses({ maxWorkers, testTimeout: 60_000 } as Config.GlobalConfig)
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

it('reports a failed comparison of values that JSON does not know', async () => {
  const [outcome] = await run(`
    const circle = {}
    circle.self = circle
    it('compares', () => expect([1n, circle]).toEqual([2n, {}]))`)
  expect(outcome).toMatchObject({ passed: 0, failures: ['compares'] })
  expect(outcome!.text).toContain('2n')
})

const keepPid = 'globalThis.pids = [...(globalThis.pids ?? []), process.pid]'

it('runs files in one process, each with its own tests, hooks, timers, mocks and environment variables', async () => {
  const source = `
    import { afterEach, beforeEach } from '@jest/globals'
    ${keepPid}
    let hooks = 0
    beforeEach(() => void hooks++)
    afterEach(() => void hooks++)
    it('is like the first', () => {
      expect(hooks).toBe(1)
      expect(process.env.HERALD_SPEC).toBeUndefined()
      expect(Date.now()).toBeGreaterThan(1_000_000)
      expect(console.debug).not.toHaveProperty('mock')
      process.env.HERALD_SPEC = 'set'
      process.exitCode = 3
      jest.useFakeTimers({ now: 1 })
      jest.spyOn(console, 'debug')
    })`
  const last = `it('is the third', () => expect(globalThis.pids).toEqual([process.pid, process.pid]))`
  expect(await runInTurn(source, source, last)).toEqual([
    { passed: 1, failures: [], text: '' },
    { passed: 1, failures: [], text: '' },
    { passed: 1, failures: [], text: '' },
  ])
})

it('starts a new process after a file that failed, and for one that measures memory', async () => {
  const isNew = `${keepPid}; it('is new', () => expect(globalThis.pids).toEqual([process.pid]))`
  const [failed, , measures, again] = await runInTurn(
    `${keepPid}; it('fails', () => expect(1).toBe(2))`,
    isNew,
    `${isNew}; it('measures', () => expect(process.memoryUsage().rss).toBeGreaterThan(0))`,
    `it('is second', () => expect(globalThis.pids).toEqual([process.pid]))`,
  )
  expect(failed).toMatchObject({ failures: ['fails'] })
  expect(measures).toMatchObject({ passed: 2, text: '' })
  expect(again).toMatchObject({ passed: 1, text: '' })
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

it('fails a file for an error after its tests, and runs the next one', async () => {
  const throwLate = `
    import { afterAll } from '@jest/globals'
    afterAll(() => void setImmediate(() => setImmediate(() => { throw new Error('too late') })))`
  const [late, next, failed] = await runInTurn(
    `it('passes', () => {}); ${throwLate}`,
    `it('passes too', () => {})`,
    `it('fails', () => expect(1).toBe(2)); ${throwLate}`,
  )
  expect(late!.text).toMatch(/An error outside of the tests of this file.*too late/)
  expect(next).toMatchObject({ passed: 1, text: '' })
  expect(failed).toMatchObject({ failures: ['fails'] })
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
