import { clearHolds } from '@herald/db/certificates'
import { createSealer } from '@herald/db/store'
import { type CertificateCache, createCertificateCache } from '@herald/plan'
import { until } from '@herald/testkit'
import { addApplication, addCertificate } from '@herald/testkit/sample-tenant'
import { useDatabase } from '@herald/testkit/use-database'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { certificateHolds } from '../src/certificate-holds.ts'

const sealer = createSealer(Buffer.alloc(32))
const MIDNIGHT = Date.now() + 3_600_000
const quota = { kind: 'quota', reason: { code: 'vivo.10070', text: 'quota' }, until: MIDNIGHT } as const
const rejected = { kind: 'rejected', reason: { code: 'vivo.10045', text: 'no right' } } as const

describe('the holds of a certificate', () => {
  const db = useDatabase({ partitions: false })
  let app: string
  let id: number
  const save = () => addCertificate(db, app, 'vivo', { sealer })
  beforeEach(async () => {
    app = await addApplication(db)
    id = await save()
  })

  let time = Date.now()
  /** A process: its cache and its holds. */
  function process() {
    const certificates = createCertificateCache({ db, sealer, adapters: {} })
    const log = { error: () => {} } as never
    return { certificates, holds: certificateHolds({ db, certificates, log }, id, () => time) }
  }
  const refresh = async (certificates: CertificateCache) => {
    certificates.forget(app)
    await certificates.of(app)
  }
  const rows = async () =>
    (
      await db.pool.query(
        'SELECT scope, kind, xmin, first_at, last_at FROM certificate_hold WHERE certificate_id = $1',
        [id],
      )
    ).rows
  const stored = () => until(async () => (await rows()).length > 0 && rows(), { what: 'the row' })

  it('are known at once to the process that adds them and to the others when they read the certificate again', async () => {
    const [one, other] = [process(), process()]
    await refresh(other.certificates)
    expect(one.holds.isEmpty()).toBe(true)
    one.holds.add('quota marketing', quota, MIDNIGHT)
    expect(one.holds.isEmpty()).toBe(false)
    expect(one.holds.find('quota marketing')).toEqual({ ...quota, held: true })
    expect(one.holds.find('quota service')).toBeUndefined()
    await stored()
    expect(other.holds.find('quota marketing')).toBeUndefined()
    expect(other.holds.isEmpty()).toBe(true)
    await refresh(other.certificates)
    expect(other.holds.isEmpty()).toBe(false)
    expect(other.holds.find('quota marketing')).toEqual({ ...quota, held: true })
  })

  it('are written once, not once per recipient that was refused', async () => {
    const { holds } = process()
    for (let i = 0; i < 1000; i++) holds.add('class service', rejected, time + 600_000 + i)
    const [first] = await stored()
    await db.pool.query('SELECT 1')
    expect(await rows()).toEqual([first])
  })

  it('end, and are then added again with the time of the first refusal', async () => {
    const { holds, certificates } = process()
    holds.add('class service', rejected, time + 600_000)
    const [first] = await stored()
    time += 600_001
    expect(holds.find('class service')).toBeUndefined()
    holds.add('class service', rejected, time + 600_000)
    expect(holds.find('class service')).toEqual({ ...rejected, held: true })
    await until(async () => (await rows())[0].xmin !== first.xmin, { what: 'the second write' })
    expect((await rows())[0].first_at).toEqual(first.first_at)
    await refresh(certificates)
  })

  it('end for all processes when an operator clears them or saves the certificate', async () => {
    for (const clear of [() => clearHolds(db, id), save]) {
      const [one, other] = [process(), process()]
      one.holds.add('quota marketing', quota, MIDNIGHT)
      await stored()
      await refresh(other.certificates)
      await clear()
      for (const { holds, certificates } of [one, other]) {
        await refresh(certificates)
        // What a process added itself it trusts for some seconds longer.
        await until(
          () => {
            time += 1000
            return holds.find('quota marketing') === undefined
          },
          { what: 'the end' },
        )
      }
    }
  })
})
