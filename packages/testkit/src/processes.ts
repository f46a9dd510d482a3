import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { openResources } from './open-resources.ts'
import { until } from './until.ts'

export type StartOptions = { cwd?: string; env?: Record<string, string> }
export type Exit = { code: number | null; signal: NodeJS.Signals | null }

export type RunningProcess = {
  pid: number
  /** Everything printed so far to stdout and stderr. */
  output(): string
  /** Waits until the output matches; fails at once if the process exits before. */
  prints(pattern: RegExp, seconds?: number): Promise<RegExpExecArray>
  exited: Promise<Exit>
  /** Sends SIGTERM by default and waits for the exit. */
  stop(signal?: NodeJS.Signals): Promise<Exit>
}

const root = join(import.meta.dirname, '../../..')
const alive = new Set<ChildProcess>()
// A spec that fails must not leave its processes running.
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL')
})

/** Starts a program with `env`, PATH, HOME and TMPDIR; it inherits no other environment variables. */
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
    openResources().delete(child)
  })
  exited.catch(() => {})
  openResources().set(child, `process ${child.pid} (${command} ${args.join(' ')})`)
  return {
    pid: child.pid ?? 0,
    output: () => output,
    exited,
    async prints(pattern, seconds) {
      const match = await until(() => pattern.exec(output) ?? (ended ? 'ended' : undefined), {
        ...(seconds && { seconds }),
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

/** Starts one of Herald's programs, such as `startApp('apps/planner/src/main.ts', { DATABASE_URL: url })`. */
export function startApp(main: string, env: Record<string, string>, args: string[] = []): RunningProcess {
  const cache = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/herald-compiled') }
  return startProcess(process.execPath, [join(root, main), ...args], { env: { ...cache, ...env } })
}
