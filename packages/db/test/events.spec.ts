import { randomBytes } from 'node:crypto'
import { eventNames } from '@herald/domain'
import { until } from '@herald/testkit'
import { beforeEach, describe, expect, it } from '@jest/globals'
import {
  claimWebhooks,
  courierFigures,
  listEntries,
  listWebhooks,
  lookForCourier,
  moveOutbox,
  moveOutboxInTurn,
  noteFailure,
  noteRequest,
  positionAfter,
  readEvents,
  releaseWebhook,
  replayWebhook,
  saveWebhook,
} from '../src/events/index.ts'
import { createSealer, resealSecrets } from '../src/store/index.ts'
import { createApplication, findApplication } from '../src/tenants/index.ts'
import { useDatabase } from './setup.ts'

const db = useDatabase({ max: 10 })
let appId: string
const key = randomBytes(32)
const sealer = createSealer(key)
const by = { actor: 'spec' }

beforeEach(async () => {
  await db.pool.query('TRUNCATE outbox, event, webhook')
  await db.pool.query('UPDATE event_head SET last = 0')
  const made = await createApplication(db, {
    name: randomBytes(4).toString('hex'),
    packageName: 'com.example',
  })
  appId = (made as { appId: string }).appId
})

async function write(count: number, kind = 'device.sent', devices: number[] | null = null, of = appId) {
  await db.pool.query(
    `INSERT INTO outbox (app_id, kind, task_id, devices, text) SELECT $1, $2, n, $4, n::text FROM generate_series(1, $3) n`,
    [of, kind, count, devices],
  )
}
async function addWebhook(more: Partial<Parameters<typeof saveWebhook>[3]> = {}) {
  const settings = {
    name: 'one',
    url: 'https://example.com',
    events: [...eventNames],
    newSecret: 'whsec_AA==',
  }
  const saved = await saveWebhook(db, sealer, appId, { ...settings, ...more }, by)
  if (typeof saved === 'string') throw new Error(saved)
  return saved.webhookId
}
const claim = async (worker: string, failing = false) =>
  claimWebhooks(db, sealer, worker, { limit: 10, failing })
const all = { rows: 1000, entries: 100_000 }

describe('the stream of events', () => {
  it('has the order of the outbox, and ids that increase although the clock goes back', async () => {
    await write(3)
    expect(await moveOutbox(db)).toBe(3)
    const first = await readEvents(db, { appId }, { event: 0, part: 0 }, all)
    expect(first.list.map(({ text }) => text)).toEqual(['1', '2', '3'])
    // As after a switch to a server whose clock is an hour behind.
    await db.pool.query('UPDATE event_head SET last = last + 3600 * 1000 * 4096::bigint')
    const { rows } = await db.pool.query('SELECT last FROM event_head')
    await write(2)
    await moveOutbox(db)
    const second = await readEvents(db, { appId }, { event: first.next, part: 0 }, all)
    expect(second.list.map(({ id }) => id)).toEqual([rows[0].last + 1, rows[0].last + 2])
    expect(await moveOutbox(db)).toBe(0)
  })

  it('gets each row once from movers that run at the same time', async () => {
    await write(500)
    const moved = await Promise.all(
      Array.from({ length: 8 }, async () => {
        let sum = 0
        for (let i = 0; i < 20; i++) sum += await moveOutbox(db, 17)
        return sum
      }),
    )
    let rest = 0
    for (let more = 1; more > 0; rest += more) more = await moveOutbox(db)
    expect(moved.reduce((sum, one) => sum + one, rest)).toBe(500)
    const { list } = await readEvents(db, { appId }, { event: 0, part: 0 }, all)
    expect(list.map(({ text }) => Number(text))).toEqual(Array.from({ length: 500 }, (_, i) => i + 1))
  })

  it('does not move while another process does', async () => {
    await write(1)
    const client = await db.pool.connect()
    try {
      await client.query('BEGIN')
      await client.query('SELECT last FROM event_head FOR UPDATE')
      expect(await moveOutbox(db)).toBe(0)
      await client.query('COMMIT')
    } finally {
      client.release()
    }
    expect(await moveOutbox(db)).toBe(1)
  })

  it('gets its turn after those who wait for the lock, and then wakes the webhooks that they saved', async () => {
    await write(1)
    const waitingSql = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    const waiting = async () => (await db.pool.query(waitingSql)).rowCount
    const client = await db.pool.connect()
    try {
      await client.query('BEGIN')
      await client.query('SELECT last FROM event_head FOR UPDATE')
      expect(await moveOutboxInTurn(db, 1)).toBe(0)
      const saved = addWebhook()
      await until(async () => (await waiting()) === 1)
      const moved = moveOutboxInTurn(db, 3_600_000)
      await until(async () => (await waiting()) === 2)
      // Only one waits.
      expect(await moveOutboxInTurn(db, 3_600_000)).toBe(0)
      await client.query('COMMIT')
      await saved
      expect(await moved).toBe(1)
    } finally {
      client.release()
    }
    expect(await lookForCourier(db)).toMatchObject({ outbox: false, healthy: true })
    expect(await moveOutboxInTurn(db)).toBe(0)
  })

  it('is read by pages of bounded rows and entries, without gaps', async () => {
    const devices = Array.from({ length: 300 }, (_, i) => i + 1)
    for (let i = 0; i < 4; i++) {
      await write(1, 'device.sent', devices)
      await write(30, 'token.retired')
    }
    while ((await moveOutbox(db)) > 0);
    const read: number[] = []
    const filter = { appId, events: ['device.sent'] }
    let pages = 0
    for (let event = 0, isLast = false; !isLast; pages++) {
      const page = await readEvents(db, filter, { event, part: 0 }, { rows: 10, entries: 500 })
      expect(page.list.length).toBeLessThanOrEqual(2)
      read.push(...page.list.map(({ id }) => id))
      event = page.next
      isLast = page.isLast
    }
    expect(new Set(read).size).toBe(4)
    expect(pages).toBeGreaterThan(10)
    const { rows } = await db.pool.query(
      `SELECT id, entries FROM event WHERE kind = 'device.sent' ORDER BY id`,
    )
    expect(read).toEqual(rows.map(({ id }) => id))
    expect(rows.map(({ entries }) => entries)).toEqual([300, 300, 300, 300])
    // Both fit, and the page ends before the third.
    const wide = await readEvents(db, filter, { event: 0, part: 0 }, { rows: 1000, entries: 500 })
    expect(wide).toMatchObject({
      list: [{ id: read[0] }, { id: read[1] }],
      next: read[1]! + 1,
      isLast: false,
    })
  })

  it('is listed by entries from any place of an event', async () => {
    await write(1, 'device.sent', [11, 12, 13])
    await write(1, 'task.finished')
    await moveOutbox(db)
    const whole = (await listEntries(db, appId, { event: 0, part: 0 }, 10)).list.map(
      (text) => JSON.parse(text).id,
    )
    expect(whole).toHaveLength(4)
    for (const [place, id] of whole.entries()) {
      const rest = await listEntries(db, appId, positionAfter(id)!, 10)
      expect(rest.list.map((text) => JSON.parse(text).id)).toEqual(whole.slice(place + 1))
      const one = await listEntries(db, appId, positionAfter(id)!, 1)
      expect(one.list.map((text) => JSON.parse(text).id)).toEqual(whole.slice(place + 1, place + 2))
    }
    expect(positionAfter('nonsense')).toBeUndefined()
    expect(positionAfter('1-')).toBeUndefined()
  })

  it('is not listed from a place that no event has, so that a page stays small', async () => {
    expect(positionAfter('0-999')).toEqual({ event: 0, part: 1000 })
    for (const part of [1000, 1001, 999_999]) expect(positionAfter(`0-${part}`)).toBeUndefined()
    const devices = Array.from({ length: 1000 }, (_, i) => i + 1)
    for (let i = 0; i < 3; i++) await write(1, 'device.sent', devices)
    await moveOutbox(db)
    // With the thousand entries before the position, although it is of no event.
    const { list } = await readEvents(db, { appId }, positionAfter('0-999')!, { rows: 1000, entries: 10 })
    expect(list).toHaveLength(2)
    const [first, second] = list.map(({ id }) => id)
    for (const [limit, last] of [
      [10, `${first}-9`],
      [1000, `${first}-999`],
      [1001, `${second}-0`],
    ] as const) {
      const page = await listEntries(db, appId, positionAfter('0-999')!, limit)
      expect([page.list.length, page.last]).toEqual([limit, last])
    }
    const rest = await listEntries(db, appId, positionAfter(`${first}-997`)!, 5)
    expect(rest.list.map((text) => JSON.parse(text).id)).toEqual([
      ...[`${first}-998`, `${first}-999`],
      ...[`${second}-0`, `${second}-1`, `${second}-2`],
    ])
  })

  it('names devices as they are, and persons only for what happened since they have the device', async () => {
    const userId = '9007199254740993'
    const odd = 'a"\\b 设备 \u{1f600}'
    await db.pool.query(
      `INSERT INTO app_user (id, app_id, username, password_hash) VALUES ($1, $2, $3, '')`,
      [userId, appId, odd],
    )
    const { rows } = await db.pool.query<{ id: number }>(
      `INSERT INTO device (app_id, guid, push_token_hash, user_id, alias, moved_at)
       VALUES ($1, $2, push_token_hash($1), $3, $4, '2026-01-02T00:00:00.5Z') RETURNING id`,
      [appId, odd, userId, odd],
    )
    // The first row of the stream is not about the first time.
    for (const at of ['2026-01-02T00:00:00.501Z', '2026-01-02T00:00:00.499Z'])
      await db.pool.query(
        `INSERT INTO outbox (app_id, kind, at, devices) VALUES ($1, 'device.sent', $2, ARRAY[$3::bigint, 999999999])`,
        [appId, at, rows[0]!.id],
      )
    await moveOutbox(db)
    const { list } = await listEntries(db, appId, { event: 0, part: 0 }, 10)
    const said = JSON.stringify(odd)
    expect(list.map((text) => text.replace(/^.*"at":\d+/, ''))).toEqual([
      `,"device_guid":${said},"user_id":${userId},"username":${said},"alias":${said}}`,
      '}',
      `,"device_guid":${said}}`,
      '}',
    ])
  })
})

describe('webhooks', () => {
  it('are woken only by events that they want', async () => {
    await addWebhook({ name: 'clicks', events: ['device.clicked'] })
    await addWebhook({ name: 'spring', campaign: 'spring' })
    const sends = await addWebhook({ name: 'sends', events: ['device.sent', 'device.failed'] })
    expect(await lookForCourier(db)).toEqual({
      outbox: false,
      healthy: false,
      failing: false,
      waiting: false,
    })
    await write(2)
    expect(await lookForCourier(db)).toMatchObject({ outbox: true })
    await moveOutbox(db)
    expect(await lookForCourier(db)).toEqual({
      outbox: false,
      healthy: true,
      failing: false,
      waiting: true,
    })
    expect((await claim('a')).map(({ webhookId }) => webhookId)).toEqual([sends])
  })

  it('get no older events when they want others', async () => {
    await addWebhook({ name: 'changed', events: ['device.clicked'] })
    await write(2)
    await moveOutbox(db)
    const id = await addWebhook({ name: 'changed', events: ['device.sent'] })
    expect(await claim('a')).toEqual([])
    const listed = async () => (await listWebhooks(db, appId)).find(({ webhookId }) => webhookId === id)
    expect(await listed()).toMatchObject({ backlog: 0, backlogExact: true, backlogSince: null })
    await write(1)
    await moveOutbox(db)
    expect(await listed()).toMatchObject({ backlog: 1 })
    expect((await claim('a')).map(({ webhookId }) => webhookId)).toEqual([id])
  })

  it('are claimed by one courier at a time, until the lease ends', async () => {
    const id = await addWebhook()
    await write(1)
    await moveOutbox(db)
    const [mine] = await claim('a')
    expect(await claim('b')).toEqual([])
    const end = { event: mine!.position.event + 10, part: 3 }
    expect(await noteRequest(db, mine!, { start: mine!.position, end })).toBe(true)
    await db.pool.query('UPDATE webhook SET lease_until = now() WHERE id = $1', [id])
    const [theirs] = await claim('b')
    expect(theirs).toMatchObject({ worker: 'b', sending: end, position: mine!.position })
    // A courier that lost the lease changes nothing.
    const sent = { entries: 1, status: 200 }
    expect(await noteRequest(db, mine!, { start: end }, sent)).toBe(false)
    expect(await noteFailure(db, mine!, { error: 'x', pauseSeconds: 1 })).toBe(false)
    await releaseWebhook(db, mine!, end)
    const { rows } = await db.pool.query('SELECT worker, cursor, sent FROM webhook WHERE id = $1', [id])
    expect(rows[0]).toMatchObject({ worker: 'b', cursor: mine!.position.event, sent: 0 })
  })

  it('count a request once, also if its commit is repeated', async () => {
    const id = await addWebhook()
    await write(1)
    await moveOutbox(db)
    const [work] = await claim('a')
    const start = { event: work!.position.event + 1, part: 0 }
    const sent = { entries: 7, status: 200 }
    expect(await noteRequest(db, work!, { start }, sent)).toBe(true)
    expect(await noteRequest(db, work!, { start }, sent)).toBe(true)
    const { rows } = await db.pool.query('SELECT sent FROM webhook WHERE id = $1', [id])
    expect(rows[0].sent).toBe(7)
  })

  it('end the claim of a courier when they are changed or replayed', async () => {
    const id = await addWebhook()
    await write(1)
    await moveOutbox(db)
    const end = (event: number) => ({ event: event + 1, part: 0 })
    const [first] = await claim('a')
    await replayWebhook(db, appId, id, { event: 5, part: 0 }, by)
    expect(await noteRequest(db, first!, { start: end(first!.position.event) })).toBe(false)
    const [second] = await claim('a')
    expect(second).toMatchObject({
      epoch: first!.epoch + 1,
      position: { event: 5, part: 0 },
      sending: undefined,
    })
    await noteRequest(db, second!, { start: second!.position, end: end(9) })
    // With the same events the request in flight keeps its id.
    await addWebhook({ url: 'https://example.org', events: [...eventNames].reverse() })
    const [third] = await claim('a')
    expect(third).toMatchObject({ url: 'https://example.org', epoch: second!.epoch, sending: end(9) })
    await addWebhook({ events: ['device.sent'] })
    const [fourth] = await claim('a')
    expect(fourth).toMatchObject({ epoch: second!.epoch + 1, sending: undefined, position: second!.position })
  })

  it('that fail wait, rest and are counted', async () => {
    const id = await addWebhook()
    await write(1)
    await moveOutbox(db)
    const [work] = await claim('a')
    await noteFailure(db, work!, { status: 500, error: 'status 500', pauseSeconds: 60 })
    expect(await lookForCourier(db)).toMatchObject({ healthy: false, failing: false, waiting: true })
    expect(await courierFigures(db)).toMatchObject({ active: 0, failing: 1, rested: 0, outboxAge: 0 })
    await db.pool.query('UPDATE webhook SET next_at = now() WHERE id = $1', [id])
    expect(await lookForCourier(db)).toMatchObject({ healthy: false, failing: true })
    expect(await claim('a')).toEqual([])
    const [again] = await claim('a', true)
    expect(again).toMatchObject({ attempts: 1, failingSeconds: expect.any(Number) })
    await noteFailure(db, again!, { error: 'gone', pauseSeconds: 1, rest: 'gone' })
    expect(await courierFigures(db)).toMatchObject({ active: 0, failing: 0, rested: 1, backlogAge: 0 })
    expect(await listWebhooks(db, appId)).toMatchObject([{ restReason: 'gone', backlog: 1, nextAt: null }])
    await addWebhook()
    expect(await listWebhooks(db, appId)).toMatchObject([
      { restReason: null, restedAt: null, failingSince: null },
    ])
    expect((await claim('a')).length).toBe(1)
  })

  it('keep their secret when they are renamed and when the master key is rotated', async () => {
    const id = await addWebhook({ newSecret: 'whsec_first' })
    await addWebhook({ webhookId: id, name: 'renamed', newSecret: 'whsec_other' })
    const renewed = createSealer(randomBytes(32), [key])
    expect(await resealSecrets(db, renewed)).toMatchObject({ resealed: 1, broken: 0 })
    await write(1)
    await moveOutbox(db)
    const [work] = await claimWebhooks(db, renewed, 'a', { limit: 1, failing: false })
    expect(work).toMatchObject({ secret: 'whsec_first' })
    await db.pool.query('UPDATE webhook SET lease_until = now() WHERE id = $1', [id])
    const [unreadable] = await claimWebhooks(db, sealer, 'a', { limit: 1, failing: false })
    expect(unreadable!.secret).toBeUndefined()
  })

  it('are read with their application', async () => {
    await addWebhook({ events: ['task.finished'], campaign: 'spring' })
    expect((await findApplication(db, appId))?.wantedEvents).toEqual([
      { events: ['task.finished'], campaign: 'spring' },
    ])
    const { rows } = await db.pool.query(
      `SELECT count(*) FROM change WHERE subject = 'application' AND app_id = $1`,
      [appId],
    )
    await write(1, 'task.finished')
    await moveOutbox(db)
    // Caches are not emptied when events are sent.
    const after = await db.pool.query(
      `SELECT count(*) FROM change WHERE subject = 'application' AND app_id = $1`,
      [appId],
    )
    expect(after.rows).toEqual(rows)
  })
})
