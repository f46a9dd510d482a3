import type { CertificateHealth, ServerFacts } from '@herald/db/readings'
import { readSettings } from '@herald/settings'
import { describe, expect, it } from '@jest/globals'
import { type Finding, worst } from '../src/doctor/finding.ts'
import { judgeCertificates, judgeMasterKey } from '../src/doctor/judge-certificates.ts'
import { judgeClock, judgeMigrations, judgeServer, type Needs } from '../src/doctor/judge-postgres.ts'
import { judgeQueue } from '../src/doctor/judge-queue.ts'
import { judgeOpenFiles } from '../src/doctor/machine.ts'
import { needsOf } from '../src/doctor/needs.ts'
import { hostsOf, judgeVendors } from '../src/doctor/vendors.ts'

const healthy: ServerFacts = {
  version: '18.1',
  major: 18,
  clockAheadMs: 3,
  blurMs: 1,
  synchronousCommit: 'on',
  fsync: true,
  standby: false,
  connections: { most: 297, open: 10 },
}
const bad = (findings: Finding[]) =>
  findings.filter(({ state }) => state !== 'ok').map(({ state, what }) => `${state} ${what}`)

describe('the doctor on Postgres', () => {
  const apart = needsOf(false, false)

  it.each<[Partial<ServerFacts>, Needs, string[]]>([
    [{}, apart, []],
    [{ version: '13.9', major: 13 }, apart, ['fail PostgreSQL 13.9 is too old']],
    [{ standby: true }, apart, ['fail the server is a standby and takes no writes']],
    [{ fsync: false }, apart, ['fail fsync is off: a crash may destroy the database']],
    [
      { synchronousCommit: 'off' },
      apart,
      ['fail synchronous_commit is off: a crash loses pushes that were answered with 200'],
    ],
    [{ synchronousCommit: 'remote_apply' }, apart, []],
    [
      { connections: { most: 97, open: 5 } },
      apart,
      ['warn 97 connections are allowed, and one of each program may open 110'],
    ],
    [
      { connections: { most: 150, open: 5 } },
      needsOf(false, true),
      ['warn 150 connections are allowed, and one of each program may open 163'],
    ],
    [{ connections: { most: 97, open: 5 } }, needsOf(true, true), []],
    [{ connections: { most: 100, open: 95 } }, apart, ['fail 95 of 100 connections are taken']],
  ])('%j, %j', (facts, needs, expected) => {
    expect(bad(judgeServer({ ...healthy, ...facts }, needs))).toEqual(expected)
  })

  it.each([
    [1_900, 'ok'],
    [-3_000, 'warn'],
    [90_000, 'fail'],
  ] as const)('a clock %d ms off is %s', (clockAheadMs, state) => {
    expect(judgeClock({ ...healthy, clockAheadMs })).toMatchObject({ state })
  })

  it('does not blame a clock for a slow network', () => {
    expect(judgeClock({ ...healthy, clockAheadMs: 3_000, blurMs: 2_500 })).toMatchObject({ state: 'ok' })
  })

  it('names pending migrations', () => {
    expect(judgeMigrations({ applied: ['a'], pending: [] })).toMatchObject({ state: 'ok' })
    expect(judgeMigrations({ applied: [], pending: ['a', 'b'] })).toMatchObject({
      state: 'fail',
      what: '2 migrations pending: a, b',
    })
  })
})

describe('the doctor on the queue', () => {
  const node = { address: 'r:6379', version: '7.2.1', role: 'master', policy: 'noeviction', appendOnly: true }
  const redis = (change: Partial<typeof node>, whole = true) =>
    bad(judgeQueue({ kind: 'redis', topology: 'single', nodes: [{ ...node, ...change }], whole }))

  it('finds what would lose jobs', () => {
    expect(redis({})).toEqual([])
    expect(redis({ policy: 'allkeys-lru' })).toEqual([
      'fail r:6379: maxmemory-policy is allkeys-lru: jobs may be dropped',
    ])
    expect(redis({ policy: '' })).toEqual(['warn r:6379: maxmemory-policy is hidden'])
    expect(redis({ appendOnly: false })[0]).toMatch(/^warn r:6379: appendonly is off/)
    expect(redis({ version: '6.0.9' })).toEqual(['fail r:6379: Redis 6.0.9 is too old'])
    expect(redis({ version: '10.0.0' })).toEqual([])
    expect(redis({ role: 'slave' })).toEqual(['fail r:6379: it is a slave and takes no writes'])
    expect(redis({}, false)).toEqual(['fail the Cluster does not serve all its slots'])
  })

  it('knows that tables of the queue are made by the first program', () => {
    const state = (schema: 'missing' | 'old' | 'ready') =>
      worst(judgeQueue({ kind: 'postgres', version: '18', schema }))
    expect([state('missing'), state('old'), state('ready')]).toEqual(['warn', 'warn', 'ok'])
  })
})

const certificate: CertificateHealth = {
  application: 'shop',
  channel: 'meizu',
  environment: 'production',
  state: 'open',
  lastError: null,
  expiresAt: null,
}

describe('the doctor on keys and certificates', () => {
  const now = Date.UTC(2027, 0, 1)
  const inDays = (days: number) => new Date(now + days * 86_400_000)

  it('finds closed, expired and soon expiring ones', () => {
    const judge = (change: Partial<CertificateHealth>) =>
      bad(judgeCertificates([{ ...certificate, ...change }], now))
    expect(judge({ expiresAt: inDays(31) })).toEqual([])
    expect(judge({ expiresAt: inDays(3) })).toEqual(['warn flyme (production) of shop expires on 2027-01-04'])
    expect(judge({ expiresAt: inDays(-1) })).toEqual([
      'fail flyme (production) of shop expired on 2026-12-31',
    ])
    expect(judge({ state: 'closed', lastError: 'bad secret' })).toEqual([
      'fail flyme (production) of shop is closed: bad secret',
    ])
    expect(worst(judgeCertificates([], now))).toBe('warn')
  })

  it('tells whether the master key fits', () => {
    const judge = (current: number, others: number, broken: number) =>
      judgeMasterKey({ current, others, broken })
    expect(judgeMasterKey(undefined)).toMatchObject({ state: 'fail' })
    expect([judge(0, 0, 0), judge(5, 0, 0)].map(({ state }) => state)).toEqual(['ok', 'ok'])
    expect(judge(4, 1, 0)).toMatchObject({ state: 'warn' })
    expect(judge(3, 1, 2)).toMatchObject({
      state: 'fail',
      what: 'HERALD_MASTER_KEY does not open 2 of 6 stored secrets',
    })
  })
})

describe('the doctor on vendors', () => {
  const { vendorUrls } = readSettings({}).settings

  it('fails for a host that a certificate needs, and warns of others', () => {
    const hosts = hostsOf(vendorUrls, {}, [
      certificate,
      { ...certificate, channel: 'apns', environment: 'development' },
    ])
    expect(hosts.filter(({ needed }) => needed).map(({ name }) => name)).toEqual(['apnsSandbox', 'meizu'])
    const findings = judgeVendors(
      hosts.map((host) => ({ ...host, ms: 5, problem: 'refused' })),
      false,
    )
    expect(findings.filter(({ state }) => state === 'fail')).toHaveLength(2)
    expect(findings.filter(({ state }) => state === 'warn')).toHaveLength(hosts.length - 2)
  })

  it('tries the simulator of a vendor instead of its hosts', () => {
    const hosts = hostsOf(vendorUrls, { flyme: 'http://127.0.0.1:9' }, [certificate])
    expect(hosts.filter(({ channel }) => channel === 'meizu')).toEqual([
      { name: 'meizu', url: 'http://127.0.0.1:9', channel: 'meizu', needed: true, simulated: true },
    ])
  })
})

it('the doctor warns of few open files', () => {
  expect(judgeOpenFiles(1024)).toMatchObject([{ state: 'warn' }])
  expect(judgeOpenFiles(Number.POSITIVE_INFINITY)).toMatchObject([{ state: 'ok' }])
  expect(judgeOpenFiles(undefined)).toEqual([])
})
