// Plain JavaScript without dependencies: scripts/bootstrap.mjs imports it on Node 18, before anything is installed.
import { execFileSync } from 'node:child_process'
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 100

/**
 * Takes a lock file that names its owners by pid and start time. A killed owner does not block others,
 * and neither does another process that later gets its pid.
 */
export async function takeLock(path, onWait) {
  const work = `${path}.${process.pid}`
  const me = ownerOf(process.pid)
  const owners = [me]
  const isMine = () => livingOwner(read(path))?.pid === process.pid
  const release = () => {
    process.off('exit', release)
    if (isMine()) rmSync(path, { force: true })
  }
  // Renamed and not overwritten: a process killed during the write must not leave a lock without an owner.
  const replace = () => {
    if (!isMine()) return
    writeFileSync(work, JSON.stringify(owners))
    renameSync(work, path)
  }

  writeFileSync(work, JSON.stringify(owners))
  try {
    // A link appears together with its content, so no reader sees a lock that does not name its owner.
    while (!tryLink(work, path)) {
      const text = read(path)
      const owner = livingOwner(text)
      if (owner) {
        onWait(owner)
        await sleep(POLL_MS)
      } else removeStale(path, text)
    }
  } finally {
    rmSync(work, { force: true })
  }
  process.once('exit', release)
  return {
    addOwner(pid) {
      owners.push(ownerOf(pid))
      replace()
    },
    markStopping() {
      me.stopping = true
      replace()
    },
    release,
  }
}

const ownerOf = (pid) => ({ pid, started: processStart(pid) })

/**
 * The start time of a process, in the unit of the system; together with the pid it identifies a process for good.
 * Undefined when the process does not exist or is a zombie.
 */
export function processStart(pid) {
  if (process.platform === 'linux') {
    // The second field is the program's name in parentheses and may contain spaces; the state follows it.
    const fields = read(`/proc/${pid}/stat`).split(') ').pop().split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
  }
  if (process.platform === 'win32') return answersToSignals(pid) ? 'alive' : undefined
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' })
    const [state, ...start] = line.trim().split(/\s+/)
    return state.startsWith('Z') ? undefined : start.join(' ')
  } catch {
    return undefined
  }
}

/** Whether the kernel knows the pid at all, including zombies and processes of other users. */
export function answersToSignals(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function tryLink(from, to) {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

function livingOwner(text) {
  try {
    return JSON.parse(text).find(({ pid, started }) => started !== undefined && processStart(pid) === started)
  } catch {
    return undefined
  }
}

/** Another process may have replaced the stale lock in between: a lock that was removed by mistake is put back. */
function removeStale(path, staleText) {
  const removed = `${path}.stale.${process.pid}`
  try {
    renameSync(path, removed)
    if (read(removed) !== staleText) linkSync(removed, path)
  } catch (error) {
    if (error.code !== 'ENOENT' && error.code !== 'EEXIST') throw error
  }
  rmSync(removed, { force: true })
}

function read(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
