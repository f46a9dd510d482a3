import { type ChildProcess, spawn } from 'node:child_process'
import { connect } from 'node:net'
import { sleep } from '@herald/async'
import { freePort } from '@herald/testkit'

export type DebianServer = { port: number; output: () => string; close(): Promise<void> }

/** Debian installs servers in /usr/sbin, which is not in an ordinary user's PATH. */
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` }

/** Starts a server on a free port and waits until it accepts connections; tries another port if that one was taken. */
export async function startDebianServer(
  program: string,
  argsFor: (port: number) => string[],
): Promise<DebianServer> {
  for (let attempt = 0; attempt < 3; attempt++) {
    const port = await freePort()
    const child = spawn(program, argsFor(port), { stdio: ['ignore', 'pipe', 'pipe'], env })
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
  const end = performance.now() + 60_000
  while (performance.now() < end && child.exitCode === null) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
      socket.once('connect', () => socket.destroy())
    })
    if (open) return true
    await sleep(20)
  }
  return false
}
