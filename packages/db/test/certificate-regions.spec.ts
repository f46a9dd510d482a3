import { beforeEach, describe, expect, it } from '@jest/globals'
import {
  certificateAt,
  certificatesOf,
  removeCertificate,
  saveCertificate,
} from '../src/certificates/index.ts'
import { bind, markSuspect, retireReported } from '../src/devices/index.ts'
import { createSealer, resealSecrets } from '../src/store/index.ts'
import { SealBroken } from '../src/store/seal.ts'
import { addApplication, useDatabase } from './setup.ts'

const db = useDatabase()
const sealer = createSealer(Buffer.alloc(32))

let application: string
beforeEach(async () => {
  application = await addApplication(db)
})

const place = () => ({ application, channel: 'meizu', environment: 'production' }) as const
const save = (appId: string, region?: string, by = sealer) =>
  saveCertificate(db, by, {
    ...place(),
    name: '',
    appId,
    appKey: '',
    appSecret: `secret of ${appId}`,
    certificate: '',
    extra: region === undefined ? {} : { region },
  })
const at = (region?: string) => certificateAt(db, sealer, { ...place(), region })
const shown = async () =>
  (await certificatesOf(db, sealer, application)).map(({ region, appId }) => [region, appId])

/** Turns the record into one of the previous release: it had `extra.region`, but no column. */
async function saveAsBefore(appId: string, region: string) {
  const { id, callbackKey, extra, appSecret } = await save(appId, region)
  const boundTo = `${application}/meizu/production`
  await db.pool.query(
    `UPDATE certificate SET region = '', sealed = $2, callback_key_sealed = $3 WHERE id = $1`,
    [
      id,
      sealer.seal(
        JSON.stringify({ app_secret: appSecret, certificate: '', extra }),
        `certificate/${boundTo}`,
      ),
      sealer.seal(callbackKey, `callback-key/${boundTo}`),
    ],
  )
  return { id, callbackKey }
}

describe('certificates of several regions', () => {
  it('are records of their own, and saving replaces the one of the same region', async () => {
    const mainland = await save('1')
    const overseas = await save('2', 'intl')
    expect(overseas.id).not.toBe(mainland.id)
    expect(await shown()).toEqual([
      ['cn', '1'],
      ['intl', '2'],
    ])
    expect(await save('3', 'cn')).toMatchObject({ id: mainland.id, version: 2, region: 'cn' })
    expect(await save('4', 'intl')).toMatchObject({ id: overseas.id, version: 2, region: 'intl' })
    expect(await at('cn')).toMatchObject({ appId: '3', callbackKey: mainland.callbackKey })
    expect(await at('intl')).toMatchObject({ appId: '4', callbackKey: overseas.callbackKey })
  })

  it('are found without a region: the only one, otherwise the usual one', async () => {
    expect(await at()).toBeUndefined()
    await save('2', 'intl')
    expect(await at()).toMatchObject({ appId: '2' })
    expect(await at('cn')).toBeUndefined()
    await save('1')
    expect(await at()).toMatchObject({ appId: '1' })
    expect(await removeCertificate(db, sealer, { ...place(), region: 'intl' })).toEqual({ region: 'intl' })
    expect(await shown()).toEqual([['cn', '1']])
    expect(await removeCertificate(db, sealer, { ...place(), region: 'intl' })).toBeUndefined()
    expect(await removeCertificate(db, sealer, place())).toEqual({ region: 'cn' })
    expect(await shown()).toEqual([])
  })

  it('open only in their own row, and with a new key after resealing', async () => {
    await save('1')
    const { id } = await save('2', 'intl')
    const rotated = createSealer(Buffer.alloc(32, 1), [Buffer.alloc(32)])
    const { broken } = await resealSecrets(db, rotated)
    expect(broken).toBe(0)
    const stored = async (key: ReturnType<typeof createSealer>) =>
      (await certificatesOf(db, key, application)).find((certificate) => certificate.id === id)
    expect(await stored(createSealer(Buffer.alloc(32, 1)))).toMatchObject({ appId: '2' })
    await resealSecrets(db, createSealer(Buffer.alloc(32), [Buffer.alloc(32, 1)]))
    await db.pool.query(
      `UPDATE certificate SET sealed = (SELECT sealed FROM certificate WHERE app_id = $2 AND region = '') WHERE id = $1`,
      [id, application],
    )
    expect(await stored(sealer)).toMatchObject({ sealBroken: true })
    await expect(at('intl')).rejects.toThrow(SealBroken)
    expect(await removeCertificate(db, sealer, { ...place(), region: 'intl' })).toEqual({ region: 'intl' })
  })
})

describe('an overseas certificate of the previous release', () => {
  it('is used as it is', async () => {
    const { id, callbackKey } = await saveAsBefore('2', 'intl')
    for (const region of [undefined, 'intl'])
      expect(await at(region)).toMatchObject({ id, callbackKey, region: 'intl', appSecret: 'secret of 2' })
    expect(await at('cn')).toBeUndefined()
    expect(await removeCertificate(db, sealer, { ...place(), region: 'intl' })).toEqual({ region: 'intl' })
    expect(await shown()).toEqual([])
  })

  it.each([
    [
      'cn',
      [
        ['cn', 'new'],
        ['intl', '2'],
      ],
    ],
    ['intl', [['intl', 'new']]],
  ])('keeps its id and callback key when one of %s is saved', async (region, expected) => {
    const { id, callbackKey } = await saveAsBefore('2', 'intl')
    await save('new', region)
    expect(await shown()).toEqual(expected)
    expect(await at('intl')).toMatchObject({ id, callbackKey })
    const { rows } = await db.pool.query('SELECT region FROM certificate WHERE id = $1', [id])
    expect(rows).toEqual([{ region: 'intl' }])
  })
})

describe('the region of a binding', () => {
  const regionOf = async (table: 'binding' | 'retired_token', token: string) =>
    (
      await db.pool.query<{ region: string | null }>(
        `SELECT region FROM ${table} WHERE app_id = $1 AND token = $2`,
        [application, token],
      )
    ).rows.map(({ region }) => region)

  async function addToken(token: string, region?: string): Promise<void> {
    const { rows } = await db.pool.query<{ id: number }>(
      'INSERT INTO device (app_id, guid, push_token) VALUES ($1, $2, $3) RETURNING id',
      [application, token, `${application}/${token}`],
    )
    const binding = { appId: application, deviceId: rows[0]!.id, channel: 'meizu', token } as const
    await bind(db, { ...binding, environment: 'production', region: 'intl' })
    await bind(db, { ...binding, environment: 'production', region })
  }

  it('is replaced by a bind, kept when the token is retired, and restored with it', async () => {
    const { id } = await save('1')
    await save('2', 'intl')
    for (const [token, region] of [
      ['a', undefined],
      ['b', 'cn'],
      ['c', 'intl'],
    ] as const)
      await addToken(token, region)
    expect(await regionOf('binding', 'a')).toEqual([null])
    const certificate = { id, appId: application, channel: 'meizu' as const }
    const since = Date.now() + 60_000
    await retireReported(
      db,
      certificate,
      [...'abc'].map((token) => ({ token, since })),
    )
    expect(await regionOf('retired_token', 'c')).toEqual(['intl'])
    // Tokens of the other certificate's region are not restored.
    expect(await markSuspect(db, id)).toBe(2)
    expect(await regionOf('binding', 'a')).toEqual([null])
    expect(await regionOf('binding', 'b')).toEqual(['cn'])
    expect(await regionOf('binding', 'c')).toEqual([])
  })

  it('does not matter if there is one certificate', async () => {
    const { id } = await save('1')
    await addToken('c', 'intl')
    await retireReported(db, { id, appId: application, channel: 'meizu' }, [
      { token: 'c', since: Date.now() + 60_000 },
    ])
    expect(await markSuspect(db, id)).toBe(1)
    expect(await regionOf('binding', 'c')).toEqual(['intl'])
  })
})
