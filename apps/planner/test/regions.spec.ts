import { adapters } from '@herald/channels/all'
import { saveCertificate } from '@herald/db/certificates'
import { bind } from '@herald/db/devices'
import { taskFailures } from '@herald/db/tasks'
import type { VendorChannel } from '@herald/domain'
import { type MeizuSimulator, startMeizuSimulator } from '@herald/simulators/meizu'
import { type OppoSimulator, startOppoSimulator } from '@herald/simulators/oppo'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Harness, startHarness } from './harness.ts'

const mainlandApp = { appId: '110', appSecret: 'mainland-secret' }
const overseasApp = { appId: '220', appSecret: 'overseas-secret' }
const meizuToken = (number: number) => `RA50c6348036344485d017767735${String(number).padStart(18, '0')}`
const hex = (number: number) => number.toString(16).padStart(32, '0')

describe('one application with phones in two regions', () => {
  let harness: Harness
  let mainland: MeizuSimulator
  let overseas: MeizuSimulator
  let oppoMainland: OppoSimulator
  let oppoOverseas: OppoSimulator
  beforeAll(async () => {
    mainland = await startMeizuSimulator({ credentials: [mainlandApp] })
    overseas = await startMeizuSimulator({ credentials: [overseasApp] })
    oppoMainland = await startOppoSimulator({ region: 'cn' })
    oppoOverseas = await startOppoSimulator({ region: 'intl' })
    harness = await startHarness({
      adapters: { meizu: adapters.meizu!, oppo: adapters.oppo! },
      settings: {
        HERALD_MEIZU_URL: mainland.url,
        HERALD_MEIZU_INTL_URL: overseas.url,
        HERALD_OPPO_URL: oppoMainland.url,
        HERALD_OPPO_INTL_URL: oppoOverseas.url,
      },
    })
    await harness.startPlanner()
    await harness.startWorkers(['meizu', 'oppo'])
  })
  afterAll(async () => {
    await harness.stop()
    await Promise.all([mainland, overseas, oppoMainland, oppoOverseas].map((one) => one.close()))
  })

  const saveMeizu = (application: string, app: typeof mainlandApp, region: string) =>
    saveCertificate(harness.db, harness.sealer, {
      application,
      channel: 'meizu',
      environment: 'production',
      name: region,
      ...app,
      appKey: '',
      certificate: '',
      extra: { region },
    })
  async function addPhone(appId: string, channel: VendorChannel, token: string, region?: string) {
    const [deviceId] = await harness.addDevices(appId, [{}])
    await bind(harness.db, { appId, deviceId: deviceId!, channel, token, environment: 'production', region })
    return deviceId!
  }
  const oppoApp = { appKey: 'sim-app-key', appSecret: 'sim-master-secret' }
  const counters = async (task: number) => {
    await harness.finished(task)
    return harness.counters(task)
  }

  it('reaches both through the Meizu certificate of their region', async () => {
    const app = await harness.addApplication('two regions', {}, { meizu: mainlandApp })
    await saveMeizu(app, overseasApp, 'intl')
    await addPhone(app, 'meizu', meizuToken(1))
    await addPhone(app, 'meizu', meizuToken(2), 'cn')
    await addPhone(app, 'meizu', meizuToken(3), 'intl')
    const task = await harness.notify(app)
    expect(await counters(task)).toEqual({ meizu: { target: 3, sent: 3 } })
    expect([mainland.ledger(task).accepted, overseas.ledger(task).accepted]).toEqual([2, 1])
  })

  it('says which region has no certificate, and uses the only one for phones that name none', async () => {
    const app = await harness.addApplication(
      'one region',
      {},
      { meizu: { ...overseasApp, extra: { region: 'intl' } } },
    )
    await addPhone(app, 'meizu', meizuToken(4))
    await addPhone(app, 'meizu', meizuToken(5), 'cn')
    const task = await harness.notify(app)
    expect(await counters(task)).toEqual({ meizu: { target: 1, sent: 1 } })
    expect([mainland.ledger(task).accepted, overseas.ledger(task).accepted]).toEqual([0, 1])
    const { serving } = await harness.certificates.of(app)
    expect(serving('meizu', 1, 'cn')).toMatchObject({
      problem: { text: 'flyme has no production certificate for the region cn' },
    })
  })

  it('does not send a token that moved to another region after planning', async () => {
    const app = await harness.addApplication('moved', {}, { meizu: mainlandApp })
    await saveMeizu(app, overseasApp, 'intl')
    const phone = await addPhone(app, 'meizu', meizuToken(6))
    await harness.stopServices()
    const task = await harness.notify(app)
    await harness.startPlanner()
    await harness.db.pool.query(`UPDATE binding SET region = 'intl' WHERE device_id = $1`, [phone])
    await harness.startWorkers(['meizu', 'oppo'])
    expect(await counters(task)).toEqual({ meizu: { target: 1, failed: 1 } })
    expect(await taskFailures(harness.db, { appId: app }, task)).toMatchObject([
      { code: 'herald.region_changed' },
    ])
    expect([mainland.ledger(task).accepted, overseas.ledger(task).accepted]).toEqual([0, 0])
  })

  it('reaches both through one OPPO certificate, also tokens bound before regions were stored', async () => {
    const app = await harness.addApplication('one credential', {}, { oppo: oppoApp })
    await addPhone(app, 'oppo', `OPPO_CN_${hex(1)}`)
    await addPhone(app, 'oppo', `realme_IN_${hex(2)}`, 'intl')
    await addPhone(app, 'oppo', `realme_IN_${hex(3)}`)
    const task = await harness.notify(app)
    expect(await counters(task)).toEqual({ oppo: { target: 3, sent: 3 } })
    expect([oppoMainland.ledger(task).accepted, oppoOverseas.ledger(task).accepted]).toEqual([1, 2])
  })
})
