import { connectDevices, joinNode } from '@herald/db/native'
import { until } from '@herald/testkit'
import { addApplication } from '@herald/testkit/sample-tenant'
import { useDatabase } from '@herald/testkit/use-database'
import { expect, it } from '@jest/globals'
import { createPresence } from '../src/presence.ts'

const db = useDatabase({ max: 4 })

it('does not write a hello whose client has given up, and keeps the connection that it opened elsewhere', async () => {
  const app = await addApplication(db, 'presence', 'com.example')
  const { rows } = await db.pool.query<{ id: number; push_token: string }>(
    `INSERT INTO device (app_id, guid, push_token) SELECT $1, 'g' || n, 't' || n FROM generate_series(1, 3) n RETURNING id, push_token`,
    [app],
  )
  const [slow, abandoned, patient] = rows
  for (const node of ['a', 'b']) await joinNode(db, node, 600)
  const errors: unknown[] = []
  const presence = createPresence({
    db,
    node: () => 'a',
    seen: () => {},
    onPostgresError: (error) => errors.push(error),
    ending: new AbortController().signal,
  })
  const rowOf = async (id: number) =>
    (await db.pool.query('SELECT node, connection FROM presence WHERE device_id = $1', [id])).rows[0]

  // The write of the first hello waits for this transaction, and the others wait for the write.
  const locker = await db.pool.connect()
  const hellos: Promise<unknown>[] = []
  let elsewhere: { connection: number } | undefined
  try {
    await locker.query('BEGIN')
    await locker.query(`INSERT INTO presence (device_id, node, connection) VALUES ($1, 'b', 0)`, [slow!.id])
    hellos.push(presence.connect(slow!.push_token, () => false))
    const waiting = 'SELECT 1 FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid'
    await until(async () => (await locker.query(waiting)).rows.length > 0, { what: 'the first write' })
    let isOver = false
    hellos.push(presence.connect(abandoned!.push_token, () => isOver))
    hellos.push(presence.connect(patient!.push_token, () => false))
    isOver = true
    elsewhere = (await connectDevices(db, 'b', [abandoned!.push_token]))[0]
  } finally {
    // Ends the connection, and with it the transaction.
    locker.release(true)
  }

  expect(await Promise.all(hellos)).toEqual([
    expect.objectContaining({ deviceId: slow!.id }),
    undefined,
    expect.objectContaining({ deviceId: patient!.id }),
  ])
  expect(await rowOf(abandoned!.id)).toEqual({ node: 'b', connection: elsewhere!.connection })
  expect((await rowOf(patient!.id)).node).toBe('a')
  expect(errors).toEqual([])
})

it('writes no statement if all clients of a group have given up', async () => {
  let statements = 0
  const pool = new Proxy(db.pool, {
    get(target, key) {
      if (key === 'query' || key === 'connect') statements++
      return Reflect.get(target, key)
    },
  })
  const presence = createPresence({
    db: { ...db, pool },
    node: () => 'a',
    seen: () => {},
    onPostgresError: () => {},
    ending: new AbortController().signal,
  })
  const gone = ['t1', 't2'].map((token) => presence.connect(token, () => true))
  expect(await Promise.all(gone)).toEqual([undefined, undefined])
  expect(statements).toBe(0)
})
