import { type SpawnOptions, spawn } from 'node:child_process'
import { constants } from 'node:os'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '..')

const KILL_AFTER_MS = 10_000

/** All that run; a signal ends us after the last of them. */
const running = new Set<object>()

/**
 * Runs a program on our Node and returns its exit code. It leads its own process group, so that a signal to us ends all of its
 * children too: jest's workers, and programs that specs have started, would outlive it.
 */
export function runProgram(args: string[], options: SpawnOptions = {}): Promise<number> {
  const grouped = process.platform !== 'win32'
  const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit', ...options, detached: grouped })
  const send = (signal: NodeJS.Signals) => {
    if (grouped && child.pid) process.kill(-child.pid, signal)
    else child.kill(signal)
  }
  let forwarded = false
  const forward = (signal: NodeJS.Signals) => {
    // The same signal may come from the process group and from the bootstrap.
    if (forwarded) return
    forwarded = true
    send(signal)
    // turbo can take a minute to end when the signal arrives while it starts.
    const timer = setTimeout(send, KILL_AFTER_MS, 'SIGKILL')
    child.once('exit', () => {
      clearTimeout(timer)
      if (running.size === 0) process.exit(128 + constants.signals[signal])
    })
  }
  running.add(child)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, forward)
  return new Promise((resolve, reject) => {
    child.once('error', (error) => {
      running.delete(child)
      reject(error)
    })
    child.once('exit', (code) => {
      running.delete(child)
      for (const signal of signals) process.off(signal, forward)
      resolve(code ?? 1)
    })
  })
}
