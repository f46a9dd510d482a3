import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'

/** Why Postgres cannot run; the message is one sentence for the operator. */
export class PostgresProblem extends Error {
  override name = 'PostgresProblem'
}

export type ServerUser = { uid: number; gid: number }

/**
 * The user that the server must run as when we are root, as which Postgres refuses to run: the owner of existing data, or
 * else `postgres` or `nobody`.
 */
export function serverUser(dataDir: string): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  const owner = statSync(dataDir, { throwIfNoEntry: false })
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  const user = lookUp('postgres') ?? lookUp('nobody')
  if (!user)
    throw new PostgresProblem(
      'Postgres refuses to run as root, and this machine has no user `postgres` or `nobody`.',
    )
  return user
}

function lookUp(name: string): ServerUser | undefined {
  const id = (flag: string) =>
    Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
  try {
    return { uid: id('-u'), gid: id('-g') }
  } catch {
    return undefined
  }
}
