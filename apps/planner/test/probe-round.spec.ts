import type { CheckResult } from '@herald/channels'
import { closeCertificate, postponeProbe, saveCertificate, takeProbes } from '@herald/db/certificates'
import { type RecoveryPauses, recoveryPauses } from '@herald/domain'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type ProbeDeps, probeRound } from '../src/probe-round.ts'
import { type Harness, startHarness } from './harness.ts'

describe('probing closed certificates', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await startHarness()
  })
  afterAll(() => harness.stop())

  const due: RecoveryPauses = { ...recoveryPauses, probe: [0, 60, 120, 300, 900] }
  const refusal = { code: 'fcm.refused', text: 'key revoked' }
  const refused: CheckResult = { ok: false, problem: 'still revoked', temporary: false }

  async function closed(pauses = due) {
    const app = await harness.addApplication(`closed ${Math.random()}`)
    const { rows } = await harness.db.pool.query(
      `SELECT id FROM certificate WHERE app_id = $1 AND channel = 'fcm'`,
      [app],
    )
    const id = rows[0].id as number
    expect(await closeCertificate(harness.db, id, refusal, { pauses })).toBe(true)
    return { app, id }
  }
  const rowOf = async (id: number) =>
    (
      await harness.db.pool.query(
        `SELECT state, probes, last_error, extract(epoch FROM probe_at - last_error_at)::float8 AS pause, closed_at, version
         FROM certificate WHERE id = $1`,
        [id],
      )
    ).rows[0]
  const makeDue = (id: number) =>
    harness.db.pool.query('UPDATE certificate SET probe_at = now() WHERE id = $1', [id])

  function deps(check: () => Promise<CheckResult>) {
    const reports = { reopened: [] as number[], still: [] as number[] }
    const all: ProbeDeps = {
      db: harness.db,
      certificates: harness.certificates,
      pauses: due,
      check,
      onReopened: (id) => void reports.reopened.push(id),
      onStillClosed: (id) => void reports.still.push(id),
    }
    return { ...all, reports }
  }

  it('waits longer after each refusal, up to 15 minutes', async () => {
    const { id } = await closed()
    const { reports, ...rest } = deps(async () => refused)
    const waits: number[] = []
    for (let probe = 0; probe < 6; probe++) {
      await makeDue(id)
      await probeRound(rest)
      waits.push((await rowOf(id)).pause)
      // Not due any more.
      await probeRound(rest)
    }
    expect(waits).toEqual([60, 120, 300, 900, 900, 900])
    expect(await rowOf(id)).toMatchObject({ state: 'closed', probes: 6, last_error: 'still revoked' })
    expect(reports).toEqual({ reopened: [], still: Array(6).fill(id) })
  })

  it('uses these pauses: 1, 2, 5, then 15 minutes', () => {
    expect(recoveryPauses.probe).toEqual([60, 120, 300, 900])
  })

  it('opens the certificate at the first success, with a new version and an entry in the audit', async () => {
    const { app, id } = await closed()
    const before = await rowOf(id)
    const { reports, ...rest } = deps(async () => ({ ok: true }))
    await probeRound(rest)
    expect(await rowOf(id)).toMatchObject({
      state: 'open',
      last_error: null,
      closed_at: null,
      version: before.version + 1,
    })
    const { rows } = await harness.db.pool.query(
      `SELECT actor, detail FROM audit WHERE app_id = $1 AND action = 'certificate.reopened'`,
      [app],
    )
    expect(rows).toEqual([
      {
        actor: 'herald',
        detail: expect.objectContaining({
          channel: 'fcm',
          environment: 'production',
          text: 'key revoked',
          probes: 0,
          first_refused_at: expect.any(Number),
          last_refused_at: expect.any(Number),
        }),
      },
    ])
    expect(reports.reopened).toEqual([id])
  })

  it('keeps the vendor’s words when the vendor could not be asked', async () => {
    const { id } = await closed()
    const { reports, ...rest } = deps(async () => ({ ok: false, problem: 'timeout', temporary: true }))
    await probeRound(rest)
    expect(await rowOf(id)).toMatchObject({ state: 'closed', probes: 1, last_error: 'key revoked' })
    expect(reports.still).toEqual([id])
    // Not in the specs that follow.
    await postponeProbe(harness.db, id, 3600)
  })

  it('is done by one planner at a time', async () => {
    const { id } = await closed()
    let checks = 0
    const { reports: _, ...rest } = deps(async () => {
      checks++
      return refused
    })
    await Promise.all([probeRound(rest), probeRound(rest), probeRound(rest)])
    expect(checks).toBe(1)
    expect(await takeProbes(harness.db, 10)).toEqual([])
    await postponeProbe(harness.db, id, 3600)
  })

  it('does not open a certificate that was saved and refused again during the check', async () => {
    const { id } = await closed()
    const { reports, ...rest } = deps(async () => {
      await harness.db.pool.query('UPDATE certificate SET version = version + 1 WHERE id = $1', [id])
      return { ok: true }
    })
    await probeRound(rest)
    expect(reports.reopened).toEqual([])
    expect((await rowOf(id)).state).toBe('closed')
    await postponeProbe(harness.db, id, 3600)
  })

  it('leaves a certificate alone that a person saved during the check, and one that must not be probed', async () => {
    const { app, id } = await closed()
    const { reports, ...rest } = deps(async () => {
      const fields = { name: '', appId: 'a', appKey: 'k', appSecret: 'new', certificate: '', extra: {} }
      const place = { application: app, channel: 'fcm' as const, environment: 'production' as const }
      await saveCertificate(harness.db, harness.sealer, { ...place, ...fields }, { actor: 'person' })
      return { ok: true }
    })
    await probeRound(rest)
    expect(reports.reopened).toEqual([])
    const { rows } = await harness.db.pool.query(
      `SELECT actor FROM audit WHERE app_id = $1 AND action = 'certificate.reopened'`,
      [app],
    )
    expect(rows).toEqual([{ actor: 'person' }])
    await closeCertificate(harness.db, id, refusal, { probed: false })
    expect(await takeProbes(harness.db, 10)).toEqual([])
  })
})
