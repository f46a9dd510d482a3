import { beforeEach, describe, expect, it } from '@jest/globals'
import { closeCertificate, reopenCertificate, tellExpiring } from '../src/certificates/index.ts'
import { markSuspect, retireReported } from '../src/devices/index.ts'
import { addApplication, addCertificate, useDatabase } from './setup.ts'

const db = useDatabase()
let app: string
let id: number
beforeEach(async () => {
  app = await addApplication(db)
  id = await addCertificate(db, app, 'fcm')
})

const told = async () => {
  const { rows } = await db.pool.query(
    'SELECT kind, channel, code, text, devices, detail FROM outbox WHERE app_id = $1 ORDER BY id',
    [app],
  )
  return rows
}
const kinds = async () => (await told()).map(({ kind }) => kind)
const place = () => ({ certificate_id: id, environment: 'production', region: null })

describe('the application is told', () => {
  it('that a certificate was closed and why, and since when a reopened one was closed', async () => {
    await closeCertificate(db, id, { code: 'fcm.403', text: 'refused' })
    await closeCertificate(db, id, { code: 'fcm.403', text: 'refused' })
    await reopenCertificate(db, id)
    await reopenCertificate(db, id)
    const [closed, reopened, ...others] = await told()
    expect(others).toEqual([])
    expect(closed).toEqual({
      kind: 'certificate.closed',
      channel: 'fcm',
      code: 'fcm.403',
      text: 'refused',
      devices: null,
      detail: place(),
    })
    expect(reopened).toMatchObject({
      kind: 'certificate.reopened',
      code: null,
      detail: { ...place(), closed_at: expect.any(Number) },
    })
  })

  it('that a closed certificate was saved; one that was open says nothing', async () => {
    await addCertificate(db, app, 'fcm')
    expect(await kinds()).toEqual([])
    await closeCertificate(db, id, { code: 'fcm.403', text: 'refused' })
    await addCertificate(db, app, 'fcm')
    expect(await kinds()).toEqual(['certificate.closed', 'certificate.reopened'])
  })

  it('once that a certificate is suspect', async () => {
    await markSuspect(db, id)
    await markSuspect(db, id)
    expect(await told()).toMatchObject([
      {
        kind: 'certificate.suspect',
        channel: 'fcm',
        text: expect.stringContaining('reported dead'),
        detail: place(),
      },
    ])
    await closeCertificate(db, id, { code: 'fcm.403', text: 'refused' })
    await markSuspect(db, id)
    expect(await kinds()).toEqual(['certificate.suspect', 'certificate.closed'])
  })

  it('that a vendor called tokens dead, with their devices', async () => {
    const { rows } = await db.pool.query<{ device_id: number }>(
      `WITH made AS (
         INSERT INTO device (app_id, guid, push_token) SELECT $1, gen_random_uuid(), gen_random_uuid() FROM generate_series(1, 3) RETURNING id
       )
       INSERT INTO binding (device_id, channel, app_id, environment, token)
       SELECT id, 'fcm', $1, 1, 't' || id FROM made RETURNING device_id`,
      [app],
    )
    const [a, b] = rows.map(({ device_id }) => device_id).sort((x, y) => x - y)
    const since = Date.now() + 60_000
    const certificate = { id, appId: app, channel: 'fcm' as const }
    const tokens = [b, a].map((device) => ({ token: `t${device}`, since }))
    expect(await retireReported(db, certificate, [...tokens, { token: 'unknown', since }])).toBe(2)
    expect(await retireReported(db, certificate, tokens)).toBe(0)
    expect(await told()).toMatchObject([{ kind: 'token.retired', channel: 'fcm', devices: [a, b] }])
  })
})

describe('a certificate that expires', () => {
  const expiresIn = (days: number) =>
    db.pool.query(`UPDATE certificate SET expires_at = now() + make_interval(hours => $2) WHERE id = $1`, [
      id,
      Math.round(days * 24),
    ])
  /** As if that much time had passed. */
  const pass = (days: number) =>
    db.pool.query(
      `UPDATE certificate SET expires_at = expires_at - make_interval(hours => $2), told_expiry = told_expiry - make_interval(hours => $2)
       WHERE id = $1`,
      [id, days * 24],
    )
  const days = async () => (await told()).map(({ kind, detail }) => [kind, detail.days])

  it('is reported 30, 7 and 1 days before its end, once each', async () => {
    await expiresIn(40)
    await tellExpiring(db)
    expect(await days()).toEqual([])
    await pass(11)
    await Promise.all([tellExpiring(db), tellExpiring(db), tellExpiring(db)])
    const expiring = ['certificate.expiring', 30]
    expect(await days()).toEqual([expiring])
    await pass(20)
    await tellExpiring(db)
    expect(await days()).toEqual([expiring])
    await pass(3)
    expect(await tellExpiring(db)).toBe(1)
    await pass(5.5)
    await Promise.all([tellExpiring(db), tellExpiring(db)])
    await pass(1)
    expect(await tellExpiring(db)).toBe(0)
    expect(await days()).toEqual([expiring, ['certificate.expiring', 7], ['certificate.expiring', 1]])
    const { rows } = await db.pool.query<{ at: number }>(
      'SELECT floor(extract(epoch FROM expires_at))::bigint AS at FROM certificate WHERE id = $1',
      [id],
    )
    const [first] = await told()
    expect(first).toMatchObject({ channel: 'fcm', detail: place() })
    expect(first.detail.expires_at).toBeGreaterThan(rows[0]!.at)
  })

  it('is reported at the nearest of the three if it is saved late, and again if it is saved with another end', async () => {
    await expiresIn(3)
    await tellExpiring(db)
    await tellExpiring(db)
    expect(await days()).toEqual([['certificate.expiring', 7]])
    await expiresIn(20)
    await tellExpiring(db)
    expect(await days()).toEqual([
      ['certificate.expiring', 7],
      ['certificate.expiring', 30],
    ])
  })
})
