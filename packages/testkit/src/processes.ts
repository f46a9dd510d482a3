import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { openThings } from './open-things.ts'
import { until } from './until.ts'

export type StartOptions = { cwd?: string; env?: Record<string, string> }
export type Exit = { code: number | null; signal: NodeJS.Signals | null }

export type RunningProcess = {
  pid: number
  /** Everything it has printed so far, stdout and stderr together. */
  output(): string
  /** Waits until its output matches; fails at once when it ends before. */
  prints(pattern: RegExp, seconds?: number): Promise<RegExpExecArray>
  exited: Promise<Exit>
  /** Sends the signal (SIGTERM when none is given) and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Exit>
}

const root = join(import.meta.dirname, '../../..')
const alive = new Set<ChildProcess>()
// A spec that fails in the middle must not leave its processes to the machine.
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL')
})

/** Starts a program with the given environment and nothing of ours but PATH and HOME. */
export function startProcess(command: string, args: string[], options: StartOptions = {}): RunningProcess {
  const { PATH = '', HOME = '', TMPDIR } = process.env
  const child = spawn(command, args, {
    cwd: options.cwd ?? root,
    env: { PATH, HOME, ...(TMPDIR && { TMPDIR }), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8')
    stream.on('data', (text) => {
      output += text
    })
  }
  alive.add(child)
  let ended = false
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal }))
  }).finally(() => {
    ended = true
    alive.delete(child)
    openThings().delete(child)
  })
  exited.catch(() => {})
  openThings().set(child, `process ${child.pid} (${command} ${args.join(' ')})`)
  return {
    pid: child.pid ?? 0,
    output: () => output,
    exited,
    async prints(pattern, seconds = 30) {
      const match = await until(() => pattern.exec(output) ?? (ended ? 'ended' : undefined), {
        seconds,
        what: `${pattern}`,
      }).catch((error) => {
        throw new Error(`${error.message} It printed:\n${output}`)
      })
      if (typeof match === 'string')
        throw new Error(`${command} ended before it printed ${pattern}:\n${output}`)
      return match
    },
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      return exited
    },
  }
}

/** Starts a program of ours, e.g. `startApp('apps/planner/src/main.ts', { DATABASE_URL: url })`. */
export function startApp(main: string, env: Record<string, string>, args: string[] = []): RunningProcess {
  const cache = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/herald-compiled') }
  return startProcess(process.execPath, [join(root, main), ...args], { env: { ...cache, ...env } })
}
