import type { ServerFacts } from '@herald/db/readings'
import { MIN_POSTGRES, type MigrationState } from '@herald/db/store'
import { plural } from '../format.ts'
import type { Finding } from './finding.ts'

/** The processes that connect to the server, and the connections that they may open. */
export type Needs = { who: string; connections: number }

export function judgeServer(facts: ServerFacts, needs: Needs): Finding[] {
  const findings: Finding[] = []
  const add = (state: Finding['state'], what: string, advice?: string) =>
    findings.push({ area: 'postgres', state, what, advice })
  if (facts.major < MIN_POSTGRES)
    add('fail', `PostgreSQL ${facts.version} is too old`, `upgrade to ${MIN_POSTGRES} or newer`)
  else add('ok', `PostgreSQL ${facts.version} is reachable`)
  if (facts.standby)
    add('fail', 'the server is a standby and does not accept writes', 'set DATABASE_URL to the primary')
  if (!facts.fsync) add('fail', 'fsync is off: a crash may destroy the database', 'set fsync = on')
  if (facts.synchronousCommit === 'off')
    add(
      'fail',
      'synchronous_commit is off: a crash loses pushes that were accepted with 200',
      'set synchronous_commit = on',
    )
  else add('ok', `synchronous_commit is ${facts.synchronousCommit}`)
  judgeConnections(facts, needs, add)
  return findings
}

function judgeConnections(
  { connections: { max, open } }: ServerFacts,
  { who, connections: needed }: Needs,
  add: (state: Finding['state'], what: string, advice?: string) => void,
): void {
  if (open >= max * 0.9)
    add('fail', `${open} of ${max} connections are in use`, 'raise max_connections or run fewer programs')
  else if (needed > max)
    add(
      'warn',
      `${max} connections are allowed, but ${who} may open ${needed}`,
      `set max_connections to ${needed * 2}`,
    )
  else add('ok', `${open} of ${max} connections are in use; ${who} may open ${needed}`)
}

/** Above this, schedules run at the wrong time; vendors reject signed tokens whose time is minutes off. */
const CLOCK_WARN_MS = 2_000
const CLOCK_FAIL_MS = 60_000

export function judgeClock({ clockAheadMs, uncertaintyMs }: ServerFacts): Finding {
  const off = Math.max(0, Math.abs(clockAheadMs) - uncertaintyMs)
  const text = `${off < 1000 ? `${Math.round(off)} ms` : `${(off / 1000).toFixed(1)} s`}`
  if (off < CLOCK_WARN_MS)
    return { area: 'clock', state: 'ok', what: `this machine and Postgres agree within ${text}` }
  return {
    area: 'clock',
    state: off < CLOCK_FAIL_MS ? 'warn' : 'fail',
    what: `this machine is ${text} ${clockAheadMs > 0 ? 'ahead of' : 'behind'} Postgres`,
    advice: 'synchronise both with NTP; vendors reject tokens from a wrong clock',
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
    advice: 'start any program of this version, which applies them',
  }
}
