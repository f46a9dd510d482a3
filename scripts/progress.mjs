import { spawn } from 'node:child_process'
import { constants } from 'node:os'

/** Prints one sentence and exits with 1. */
export function fail(sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}

export function say(sentence) {
  process.stderr.write(`herald: ${sentence}\n`)
}

/**
 * Runs a program that may take minutes and shows the elapsed time; its own output is shown only if it fails. `lasting` is the
 * expected duration, `onSpawn` gets the pid. If the program fails, exits with one sentence, or returns false if `optional`. A SIGTERM is
 * for the program and for this process.
 */
export async function runWithProgress(
  label,
  command,
  args,
  { cwd, env, lasting, onSpawn, optional = false },
) {
  const began = Date.now()
  const seconds = () => Math.round((Date.now() - began) / 1000)
  const live = process.stderr.isTTY
  const running = lasting ? `${label} (${lasting}) …` : `${label} …`
  if (!live) say(running)
  const child = spawn(command, args, {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  })
  if (child.pid) onSpawn?.(child.pid)
  const output = []
  child.stdout.on('data', (chunk) => output.push(chunk))
  child.stderr.on('data', (chunk) => output.push(chunk))
  const timer = setInterval(
    () =>
      live ? process.stderr.write(`\rherald: ${running} ${seconds()} s `) : say(`${running} ${seconds()} s`),
    live ? 1000 : 10_000,
  )
  // Ctrl-C reaches the child too; SIGTERM is sent to this process only.
  let terminated = false
  const forward = () => {
    terminated = true
    child.kill('SIGTERM')
  }
  process.on('SIGTERM', forward)
  const end = await new Promise((resolve) => {
    child.on('error', (error) => resolve(error.message))
    child.on('close', (code, signal) =>
      resolve(code === 0 ? undefined : signal ? `stopped by ${signal}` : `exit code ${code}`),
    )
  })
  clearInterval(timer)
  process.off('SIGTERM', forward)
  // The next line is shorter than this one.
  if (live) process.stderr.write('\r\x1b[K')
  if (terminated) process.exit(128 + constants.signals.SIGTERM)
  if (end !== undefined) {
    process.stderr.write(Buffer.concat(output))
    if (optional) {
      say(`${label} failed (${end}); continuing without it`)
      return false
    }
    fail(`herald: ${label} failed (${end}); run the same command again to repair it.`)
  }
  say(`${label}: done in ${seconds()} s`)
  return true
}
