import { randomBytes } from 'node:crypto'
import { type Certificate, isUnsupported } from '@herald/channels'
import { adapter as apns } from '@herald/channels/apns'
import { saveCertificate } from '@herald/db/certificates'
import { createSealer } from '@herald/db/store'
import { type ApnsSimulator, startApnsSimulator } from '@herald/simulators/apns'
import { newSigningKey } from '@herald/testkit'
import { sampleMessage } from '@herald/testkit/sample-message'
import { addApplication } from '@herald/testkit/sample-tenant'
import { useDatabase } from '@herald/testkit/use-database'
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'
import type { Context } from '../src/service.ts'
import { transportDeps } from '../src/transport-deps.ts'

const sealer = createSealer(randomBytes(32))
const [keyId, teamId, bundleId] = ['ABC123DEFG', 'TEAM123456', 'com.example.Parcel']
const p8 = newSigningKey()

const db = useDatabase({ partitions: false })
let simulator: ApnsSimulator
beforeAll(async () => {
  simulator = await startApnsSimulator({ keys: [{ keyId, teamId, key: p8 }], tokenUpdateGrace: 0 })
})
afterAll(() => simulator.close())

async function addRecord(
  name: string,
  environment: Certificate['environment'],
  key = p8,
): Promise<Certificate> {
  const application = await addApplication(db, name)
  const fields = { name, appId: bundleId, appKey: keyId, appSecret: teamId, certificate: key, extra: {} }
  const place = { application, channel: 'apns', environment } as const
  const { id } = await saveCertificate(db, sealer, { ...place, ...fields })
  return { id, ...place, ...fields }
}

/** Sends one push as another process with this record would. */
async function send(certificate: Certificate): Promise<string> {
  const context = {
    settings: {
      vendorUrls: { apns: simulator.url, apnsSandbox: simulator.url },
      vendorCa: simulator.ca,
      sendTimeoutSeconds: 60,
    },
    db,
    sealer,
    certificates: { knownHolds: () => [] },
  } as unknown as Context
  const settings = apns.readSettings(certificate)
  const transport = apns.open(settings, transportDeps(context, certificate.id))
  const task = {
    taskId: 7,
    message: sampleMessage(),
    messageClass: 'service',
    ttl: 60,
    applicationName: 'App',
    now: 1,
  }
  const payload = apns.mapPayload(task as never, settings)
  if (isUnsupported(payload)) throw new Error(payload.unsupported)
  let answer = ''
  try {
    await transport.send(payload, [{ deviceId: 1, token: 'c0ffee'.padEnd(64, '1') }], {
      signal: new AbortController().signal,
      report: (_, outcome) => {
        answer = 'reason' in outcome ? outcome.reason.code : outcome.kind
      },
    })
  } finally {
    await transport.close()
  }
  return answer
}

it('gives all records with one signing key the same provider token', async () => {
  simulator.setFaults({ rules: ['token_updates_per_team'] })
  const records = [
    await addRecord('first', 'production'),
    await addRecord('second', 'production'),
    await addRecord('third', 'development'),
  ]
  const kinds = await Promise.all([...records, ...records].map(send))
  expect(kinds).toEqual(Array(6).fill('accepted'))
  const tokens = new Set(simulator.received().map(({ headers }) => headers.authorization))
  expect([...tokens]).toEqual([expect.stringMatching(/^bearer \S+$/)])
})

it('gives a record with another key its own token', async () => {
  const before = await db.pool.query('SELECT count(*)::int AS keys FROM shared_session')
  expect(await send(await addRecord('fourth', 'production', newSigningKey()))).toBe(
    'apns.InvalidProviderToken',
  )
  const after = await db.pool.query('SELECT count(*)::int AS keys FROM shared_session')
  expect(after.rows[0].keys).toBe(before.rows[0].keys + 1)
})

it('reads an access token once until it is due for renewal, and again when the vendor refused it', async () => {
  const record = await addRecord('fifth', 'production')
  const deps = transportDeps({ settings: { vendorUrls: {} }, db, sealer } as unknown as Context, record.id)
  let minted = 0
  const mint = async () => {
    minted++
    return { value: `token ${minted}`, renewAt: Date.now() + 600_000, expiresAt: Date.now() + 900_000 }
  }
  expect(await deps.session('k', mint)).toBe('token 1')
  const query = jest.spyOn(db.pool, 'query')
  const again = transportDeps({ settings: { vendorUrls: {} }, db, sealer } as unknown as Context, record.id)
  expect(await again.session('k', mint)).toBe('token 1')
  expect(query).not.toHaveBeenCalled()
  expect(await deps.session('k', mint, 'token 1')).toBe('token 2')
  expect(await again.session('k', mint)).toBe('token 2')
  query.mockClear()
  const now = performance.now()
  const clock = jest.spyOn(performance, 'now').mockReturnValue(now + 601_000)
  expect(await again.session('k', mint)).toBe('token 2')
  expect(query).toHaveBeenCalledTimes(1)
  clock.mockRestore()
  query.mockRestore()
})

it('an access token that cannot be renewed is used until it expires, with a warning', async () => {
  const { id } = await addRecord('renewal', 'production')
  const warn = jest.fn()
  const context = { settings: {}, db, sealer, certificates: { knownHolds: () => [] }, log: { warn } }
  const { session } = transportDeps(context as unknown as Context, id)
  const due = { value: 'first', renewAt: Date.now(), expiresAt: Date.now() + 3_600_000 }
  expect(await session('token', async () => due)).toBe('first')
  const err = new Error('HTTP 502')
  const refuse = () => Promise.reject(err)
  expect(await session('token', refuse)).toBe('first')
  expect(warn.mock.calls).toEqual([[{ err, certificateId: id }, expect.stringContaining('was not renewed')]])
  await expect(session('token', refuse, 'first')).rejects.toBe(err)
})
