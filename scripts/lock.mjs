import { execFileSync } from 'node:child_process'
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { say } from './progress.mjs'

/**
 * Lets one bootstrap at a time prepare this clone. The lock names processes by pid and start time, so a holder that was
 * killed does not block anyone, nor does a stranger who got its pid; an npm that outlived its bootstrap still counts as
 * holder. It lies beside node_modules because `npm ci` empties that folder.
 */
export async function withLock(root, work) {
  const path = join(root, '.bootstrap.lock')
  const mine = `${path}.${process.pid}`
  const holders = [process.pid]
  const write = () => writeFileSync(mine, JSON.stringify(holders.map((pid) => [pid, startOf(pid)])))
  let held = false
  const release = () => {
    rmSync(mine, { force: true })
    if (held) rmSync(path, { force: true })
    held = false
  }
  // Also when the work ends the process with a sentence.
  process.once('exit', release)
  write()
  await acquire(path, mine)
  held = true
  rmSync(mine)
  await work({
    addHolder(pid) {
      holders.push(pid)
      // Whole or not at all: a run that is killed while it writes must not leave a lock that names nobody.
      write()
      renameSync(mine, path)
    },
  })
  release()
}

async function acquire(path, mine) {
  for (let told = false; ; ) {
    try {
      linkSync(mine, path)
      return
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    const text = readOrEmpty(path)
    const alive = parse(text).find(([pid, start]) => startOf(pid) === start)
    if (alive) {
      if (!told) say(`waiting for process ${alive[0]}, which is preparing this clone`)
      told = true
      await new Promise((resolve) => setTimeout(resolve, 200))
    } else if (text !== '') {
      bury(path, text)
    }
  }
}

/** Removes a dead holder's lock. Another waiter may have replaced it meanwhile: what was taken by mistake is put back. */
function bury(path, deadText) {
  const grave = `${path}.dead.${process.pid}`
  try {
    renameSync(path, grave)
    if (readOrEmpty(grave) !== deadText) linkSync(grave, path)
  } catch (error) {
    if (error.code !== 'ENOENT' && error.code !== 'EEXIST') throw error
  }
  rmSync(grave, { force: true })
}

function readOrEmpty(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return []
  }
}

/** When a process began, in whatever unit the system counts; undefined when it does not live. */
function startOf(pid) {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (error.code !== 'EPERM') return undefined
  }
  if (process.platform === 'win32') return 'alive'
  if (process.platform !== 'linux')
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim()
  // The second field is the program's name in parentheses and may hold spaces; the state follows it.
  const fields = readOrEmpty(`/proc/${pid}/stat`).split(') ').pop().split(' ')
  return fields[0] === 'Z' ? undefined : fields[19]
}
