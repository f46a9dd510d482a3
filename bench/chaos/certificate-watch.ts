import { sleep } from '@herald/async'
import type { Database } from '@herald/db/store'
import { until } from '@herald/testkit'

export type CertificateWatch = {
  /** How often a certificate was closed, and how often a breaker was opened, as far as the samples show. */
  counts(): { closed: number; breakers: number }
  stop(): Promise<void>
}

const SAMPLE_MS = 500

/** Samples the state of all certificates. */
export function watchCertificates(db: Database): CertificateWatch {
  const closed = new Set<string>()
  const breakers = new Set<string>()
  const ending = new AbortController()
  const running = (async () => {
    while (!ending.signal.aborted) {
      try {
        const { rows } = await db.pool.query<{ id: number; closed: Date | null; breaker: Date | null }>(
          `SELECT c.id, CASE WHEN c.state = 'closed' THEN c.closed_at END AS closed, b.opened_at AS breaker
           FROM certificate c LEFT JOIN breaker b ON b.certificate_id = c.id`,
        )
        for (const { id, ...row } of rows) {
          if (row.closed) closed.add(`${id} ${row.closed.getTime()}`)
          if (row.breaker) breakers.add(`${id} ${row.breaker.getTime()}`)
        }
      } catch {
        // Postgres is being restarted.
      }
      await sleep(SAMPLE_MS, ending.signal)
    }
  })()
  return {
    counts: () => ({ closed: closed.size, breakers: breakers.size }),
    async stop() {
      ending.abort()
      await running
    },
  }
}

/** Waits until no certificate is closed. Nobody opens one in a drill, so the planner's probes must have done it. */
export async function untilAllOpen(db: Database, seconds: number): Promise<void> {
  const read = async () =>
    (
      await db.pool.query<{ name: string }>(
        `SELECT app_id || ' ' || channel || ': ' || coalesce(last_error, '') AS name FROM certificate WHERE state = 'closed'`,
      )
    ).rows.map(({ name }) => name)
  await until(async () => (await read()).length === 0, {
    what: 'all certificates to be open',
    seconds,
    everyMs: 500,
  }).catch(async (error: Error) => {
    throw new Error(`${error.message} ${(await read()).join(', ')}`)
  })
}
