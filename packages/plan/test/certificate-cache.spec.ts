import {
  clearHolds,
  closeBreaker,
  openBreaker,
  recordFailedCheck,
  removeCertificate,
  storeHold,
} from '@herald/db/certificates'
import { createSealer } from '@herald/db/store'
import { until } from '@herald/testkit'
import { addApplication, addCertificate } from '@herald/testkit/sample-tenant'
import { stubChannel } from '@herald/testkit/stub-channel'
import { useDatabase } from '@herald/testkit/use-database'
import { beforeAll, describe, expect, it, jest } from '@jest/globals'
import { createCertificateCache, type ReadCertificate } from '../src/index.ts'

const db = useDatabase({ partitions: false })
const keys = { appId: 'a', appKey: 'k', appSecret: 's' }
let application: string
beforeAll(async () => {
  application = await addApplication(db, 'cached')
})

describe('the certificate cache', () => {
  it('sees every change within a second, and opens only changed certificates again', async () => {
    const sealer = createSealer(Buffer.alloc(32))
    let opened = 0
    const counting: typeof sealer = {
      ...sealer,
      open(...given) {
        opened++
        return sealer.open(...given)
      },
    }
    const place = { application, channel: 'oppo', environment: 'production' } as const
    const save = (name: string) => addCertificate(db, application, 'oppo', { name, ...keys, sealer })
    const now = performance.now.bind(performance)
    const clock = jest.spyOn(performance, 'now')
    const id = await save('first')
    const adapters = { oppo: stubChannel('oppo', { url: 'http://127.0.0.1:1' }) }
    const cache = createCertificateCache({ db, sealer: counting, adapters })
    const stored = async () => {
      const found = await cache.byId(id)
      if ('problem' in found) throw new Error(found.problem.text)
      return found.stored
    }
    const first = await cache.of(application)
    expect(await stored()).toMatchObject({ name: 'first' })
    const before = opened
    clock.mockImplementation(() => now() + 2_000)
    expect(await cache.of(application)).toBe(first)
    expect(opened).toBe(before)

    await save('second')
    await until(async () => (await stored()).name === 'second')
    await recordFailedCheck(db, await stored(), { problem: 'refused', refused: true })
    await until(async () => (await stored()).checkError === 'refused')
    const read = async () => (await cache.byId(id)) as ReadCertificate
    await openBreaker(db, { certificateId: id, code: 'c', text: 'silent', pauses: [60], claimedAt: 0 })
    await until(async () => (await read()).breaker?.text === 'silent')
    await closeBreaker(db, id)
    await until(async () => !(await read()).breaker)
    const hold = {
      scope: 'class service',
      kind: 'rejected' as const,
      code: 'c',
      text: 'no right',
      until: Date.now(),
    }
    await storeHold(db, id, hold)
    await until(async () => (await read()).holds[0]?.scope === 'class service')
    expect(cache.knownHolds(id)).toMatchObject([hold])
    await clearHolds(db, id)
    await until(async () => (await read()).holds.length === 0)
    expect(cache.knownHolds(id)).toEqual([])
    await removeCertificate(db, sealer, place)
    await until(async () => 'problem' in (await cache.byId(id)))
    clock.mockRestore()
  })

  it('costs one statement per second, however many applications are in use', async () => {
    const sealer = createSealer(Buffer.alloc(32))
    const many: string[] = []
    for (let n = 0; n < 20; n++) many.push(await addApplication(db, `tenant ${n}`))
    const cache = createCertificateCache({ db, sealer, adapters: {} })
    const now = performance.now.bind(performance)
    const clock = jest.spyOn(performance, 'now')
    // Twice: the first look reports that the applications were created.
    for (const minutes of [10, 20]) {
      const at = now() + minutes * 60_000
      clock.mockReturnValue(at)
      for (const appId of many) await cache.of(appId)
    }
    const query = jest.spyOn(db.pool, 'query')
    for (let second = 1; second <= 5; second++) {
      const at = now() + (20 + second) * 60_000
      clock.mockReturnValue(at)
      for (const appId of many) await cache.of(appId)
      expect(query).toHaveBeenCalledTimes(second)
    }
    clock.mockRestore()
    query.mockRestore()
  })

  it('treats a certificate that no key opens as unusable, and serves the others', async () => {
    const [ours, lost] = [createSealer(Buffer.alloc(32)), createSealer(Buffer.alloc(32, 1))]
    const save = (channel: 'oppo' | 'vivo', sealer: typeof ours) =>
      addCertificate(db, application, channel, { name: channel, ...keys, sealer })
    const broken = await save('oppo', lost)
    const good = await save('vivo', ours)
    const adapters = {
      oppo: stubChannel('oppo', { url: 'http://127.0.0.1:1' }),
      vivo: stubChannel('vivo', { url: 'http://127.0.0.1:1' }),
    }
    const cache = createCertificateCache({ db, sealer: ours, adapters })
    const certificates = await cache.of(application)
    expect(certificates.serving('vivo', 1)).toMatchObject({ stored: { id: good, appSecret: 's' } })
    expect(certificates.serving('oppo', 1)).toMatchObject({
      problem: { text: expect.stringContaining('HERALD_MASTER_KEY is not the key') },
    })
    expect(await cache.byId(good)).toMatchObject({ stored: { id: good } })
    expect(await cache.byId(broken)).toMatchObject({ sealedId: broken })
  })

  it('picks the certificate of the binding’s region', async () => {
    const sealer = createSealer(Buffer.alloc(32))
    const regional = await addApplication(db, 'regions')
    const save = (channel: 'oppo' | 'meizu', region: string, environment: 'production' | 'development') =>
      addCertificate(db, regional, channel, { environment, ...keys, extra: { region }, sealer })
    const oppo = await save('oppo', 'cn', 'production')
    const mainland = await save('meizu', 'cn', 'production')
    const overseas = await save('meizu', 'intl', 'production')
    const test = await save('meizu', 'cn', 'development')
    const adapters = {
      oppo: stubChannel('oppo', { url: 'http://127.0.0.1:1' }),
      meizu: stubChannel('meizu', { url: 'http://127.0.0.1:1' }),
    }
    const cache = createCertificateCache({ db, sealer, adapters })
    const { serving } = await cache.of(regional)
    const idOf = (found: ReturnType<typeof serving>) => ('stored' in found ? found.stored.id : found.problem)
    expect(idOf(serving('meizu', 1))).toBe(mainland)
    expect(idOf(serving('meizu', 1, 'intl'))).toBe(overseas)
    expect(idOf(serving('meizu', 0))).toBe(test)
    // There is none for development: the one for production sends, if it is of the region.
    expect(idOf(serving('meizu', 0, 'intl'))).toBe(overseas)
    expect(idOf(serving('oppo', 1, 'intl'))).toBe(oppo)
    await removeCertificate(db, sealer, {
      application: regional,
      channel: 'meizu',
      environment: 'production',
      region: 'intl',
    })
    cache.forget(regional)
    const left = await cache.of(regional)
    expect(idOf(left.serving('meizu', 1, 'intl'))).toEqual({
      code: 'herald.no_certificate',
      text: 'flyme has no production certificate for the region intl',
    })
  })

  it('picks no certificate for production for a development token of APNs, which would refuse it', async () => {
    const sealer = createSealer(Buffer.alloc(32))
    const apple = await addApplication(db, 'environments')
    const production = await addCertificate(db, apple, 'apns', { ...keys, sealer })
    const adapters = { apns: stubChannel('apns', { url: 'http://127.0.0.1:1' }) }
    const { serving } = await createCertificateCache({ db, sealer, adapters }).of(apple)
    expect(serving('apns', 1)).toMatchObject({ stored: { id: production } })
    expect(serving('apns', 0)).toMatchObject({ problem: { code: 'herald.no_certificate' } })
  })
})
