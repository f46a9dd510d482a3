import type { ServerFacts } from '@herald/db/readings'
import type { MigrationState } from '@herald/db/store'
import { plural } from '../words.ts'
import type { Finding } from './finding.ts'

/** Whose connections the server has to bear, and how many they may be. */
export type Needs = { who: string; connections: number }

const OLDEST = 14

export function judgeServer(facts: ServerFacts, needs: Needs): Finding[] {
  const findings: Finding[] = []
  const add = (state: Finding['state'], what: string, advice?: string) =>
    findings.push({ area: 'postgres', state, what, advice })
  if (facts.major < OLDEST)
    add('fail', `PostgreSQL ${facts.version} is too old`, `update it to ${OLDEST} or newer`)
  else add('ok', `PostgreSQL ${facts.version} answers`)
  if (facts.standby)
    add('fail', 'the server is a standby and takes no writes', 'let DATABASE_URL name the primary')
  if (!facts.fsync) add('fail', 'fsync is off: a crash may destroy the database', 'set fsync = on')
  if (facts.synchronousCommit === 'off')
    add(
      'fail',
      'synchronous_commit is off: a crash loses pushes that were answered with 200',
      'set synchronous_commit = on',
    )
  else add('ok', `synchronous_commit is ${facts.synchronousCommit}`)
  judgeConnections(facts, needs, add)
  return findings
}

function judgeConnections(
  { connections: { most, open } }: ServerFacts,
  { who, connections: needed }: Needs,
  add: (state: Finding['state'], what: string, advice?: string) => void,
): void {
  if (open >= most * 0.9)
    add('fail', `${open} of ${most} connections are taken`, 'raise max_connections or run fewer programs')
  else if (needed > most)
    add(
      'warn',
      `${most} connections are allowed, and ${who} may open ${needed}`,
      `set max_connections to ${needed * 2}`,
    )
  else add('ok', `${open} of ${most} connections are taken; ${who} may open ${needed}`)
}

/** Beyond it certificates' tokens and schedules begin to disagree; vendors refuse tokens that are minutes off. */
const CLOCK_WARN_MS = 2_000
const CLOCK_FAIL_MS = 60_000

export function judgeClock({ clockAheadMs, blurMs }: ServerFacts): Finding {
  const off = Math.max(0, Math.abs(clockAheadMs) - blurMs)
  const words = `${off < 1000 ? `${Math.round(off)} ms` : `${(off / 1000).toFixed(1)} s`}`
  if (off < CLOCK_WARN_MS)
    return { area: 'clock', state: 'ok', what: `this machine and Postgres agree within ${words}` }
  return {
    area: 'clock',
    state: off < CLOCK_FAIL_MS ? 'warn' : 'fail',
    what: `this machine is ${words} ${clockAheadMs > 0 ? 'ahead of' : 'behind'} Postgres`,
    advice: 'set both by NTP; vendors refuse tokens from a wrong clock',
  }
}

export function judgeMigrations({ applied, pending }: MigrationState): Finding {
  if (pending.length === 0)
    return {
      area: 'migrations',
      state: 'ok',
      what: `${plural(applied.length, 'migration')} applied, none pending`,
    }
  return {
    area: 'migrations',
    state: 'fail',
    what: `${plural(pending.length, 'migration')} pending: ${pending.join(', ')}`,
    advice: 'start any program of this version; it applies them first',
  }
}
