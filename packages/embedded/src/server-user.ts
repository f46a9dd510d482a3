import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { PostgresProblem } from './postgres-problem.ts'

export type ServerUser = { uid: number; gid: number }

/**
 * Who the server must run as, when that is not ourselves: Postgres refuses to run as root. The owner of existing data
 * keeps it; otherwise the customary user of this machine.
 */
export function serverUser(dataDir: string): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  const owner = statSync(dataDir, { throwIfNoEntry: false })
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  const user = lookUp('postgres') ?? lookUp('nobody')
  if (!user)
    throw new PostgresProblem(
      'Postgres refuses to run as root and this machine has neither a user postgres nor nobody.',
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
