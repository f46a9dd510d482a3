import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { connect } from 'node:net'
import { describe, it } from '@jest/globals'
import { freePort } from './raw-server.ts'

export type DebianServer = { port: number; output: () => string; close(): Promise<void> }

/** Debian keeps servers where an ordinary user's PATH does not look. */
function locate(program: string): string | undefined {
  return [program, `/usr/sbin/${program}`].find(
    (file) => spawnSync(file, ['-v'], { stdio: 'ignore', timeout: 5_000 }).error === undefined,
  )
}

/**
 * Runs the suite when the program is installed. Elsewhere it is skipped with a word on stderr, except in continuous
 * integration, where a missing server must not pass for a tested one.
 */
export function describeWith(program: string, debianPackage: string, suite: () => void): void {
  if (locate(program) !== undefined) {
    describe(program, suite)
    return
  }
  const complaint = `${program} is not installed (apt-get install ${debianPackage})`
  if (process.env.CI === 'true') {
    it(`runs with ${program}`, () => {
      throw new Error(complaint)
    })
    return
  }
  process.stderr.write(`${complaint}: its suite is SKIPPED\n`)
  describe.skip(program, suite)
}

/** Starts a server on a free port and waits until it takes connections; tries another port if that one was taken. */
export async function startDebianServer(
  program: string,
  argsFor: (port: number) => string[],
): Promise<DebianServer> {
  for (let attempt = 0; attempt < 3; attempt++) {
    const port = await freePort()
    const child = spawn(locate(program) ?? program, argsFor(port), { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    const note = (chunk: Buffer | Error) => {
      output = (output + chunk.toString()).slice(-100_000)
    }
    child.stdout.on('data', note)
    child.stderr.on('data', note)
    const gone = new Promise<void>((resolve) => child.once('close', () => resolve()))
    child.once('error', note)
    if (await accepts(port, child)) {
      return {
        port,
        output: () => output,
        close: async () => {
          child.kill('SIGKILL')
          await gone
        },
      }
    }
    child.kill('SIGKILL')
    await gone
    if (attempt === 2) throw new Error(`${program} did not start: ${output}`)
  }
  throw new Error(`${program} did not start`)
}

async function accepts(port: number, child: ChildProcess): Promise<boolean> {
  const end = performance.now() + 10_000
  while (performance.now() < end && child.exitCode === null) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
      socket.once('connect', () => socket.destroy())
    })
    if (open) return true
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return false
}
