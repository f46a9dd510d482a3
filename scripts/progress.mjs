import { spawn } from 'node:child_process'

/** Says one sentence and ends with 1. */
export function fail(sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}

export function say(sentence) {
  process.stderr.write(`herald: ${sentence}\n`)
}

/**
 * Runs a program that may take minutes, showing how long it has been running; its own output is shown only when it fails.
 * `lasting` says how long to expect, `onSpawn` gets the pid. Ends the bootstrap with one sentence when the program fails,
 * unless it is `optional`; answers whether it succeeded.
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
  // A Ctrl-C reaches the child by itself; a SIGTERM is sent to this process alone.
  const passOn = () => child.kill('SIGTERM')
  process.on('SIGTERM', passOn)
  const end = await new Promise((resolve) => {
    child.on('error', (error) => resolve(error.message))
    child.on('close', (code, signal) =>
      resolve(code === 0 ? undefined : signal ? `stopped by ${signal}` : `exit code ${code}`),
    )
  })
  clearInterval(timer)
  process.off('SIGTERM', passOn)
  // What comes next is shorter.
  if (live) process.stderr.write('\r\x1b[K')
  if (end !== undefined) {
    process.stderr.write(Buffer.concat(output))
    if (optional) {
      say(`${label} failed (${end}); going on without it`)
      return false
    }
    fail(`herald: ${label} failed (${end}); run the same command again to repair.`)
  }
  say(`${label}: done in ${seconds()} s`)
  return true
}
