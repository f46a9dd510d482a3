import { type SpawnOptions, spawn } from 'node:child_process'
import { constants } from 'node:os'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '..')

const PATIENCE_MS = 10_000

/**
 * Runs a program on our own Node to its end and answers its exit code. It leads a group of processes, so that a signal to us
 * ends it with all it started: jest's workers, and what specs have under way, would outlive it.
 */
export function runProgram(args: string[], options: SpawnOptions = {}): Promise<number> {
  const grouped = process.platform !== 'win32'
  const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit', ...options, detached: grouped })
  const send = (signal: NodeJS.Signals) => {
    if (grouped && child.pid) process.kill(-child.pid, signal)
    else child.kill(signal)
  }
  let passed = false
  const passOn = (signal: NodeJS.Signals) => {
    // The same signal may come from the group and from the bootstrap.
    if (passed) return
    passed = true
    child.once('exit', () => process.exit(128 + constants.signals[signal]))
    send(signal)
    // turbo was seen to wait for a minute when it is told to end while it begins.
    setTimeout(send, PATIENCE_MS, 'SIGKILL')
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, passOn)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => {
      for (const signal of signals) process.off(signal, passOn)
      resolve(code ?? 1)
    })
  })
}
