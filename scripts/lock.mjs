import { join } from 'node:path'
import { takeLock } from '../packages/embedded/src/process-lock.mjs'
import { say } from './progress.mjs'

/**
 * Lets one bootstrap at a time prepare this clone. An npm that outlived its killed bootstrap still counts as owner. The file
 * is next to node_modules and not in it, because `npm ci` empties that folder.
 */
export async function withLock(root, work) {
  let announced = false
  const lock = await takeLock(join(root, '.bootstrap.lock'), ({ pid }) => {
    if (!announced) say(`waiting for process ${pid}, which is preparing this clone`)
    announced = true
  })
  await work(lock)
  lock.release()
}
