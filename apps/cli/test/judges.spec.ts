import type { CertificateHealth, ServerFacts } from '@herald/db/readings'
import { readSettings } from '@herald/settings'
import { describe, expect, it } from '@jest/globals'
import { type Finding, worst } from '../src/doctor/finding.ts'
import { judgeCertificates, judgeMasterKey, judgeReceipts } from '../src/doctor/judge-certificates.ts'
import { judgeClock, judgeMigrations, judgeServer, type Needs } from '../src/doctor/judge-postgres.ts'
import { judgeQueue } from '../src/doctor/judge-queue.ts'
import { judgeOpenFiles } from '../src/doctor/machine.ts'
import { needsOf } from '../src/doctor/needs.ts'
import { hostsOf, judgeVendors } from '../src/doctor/vendors.ts'

const healthy: ServerFacts = {
  version: '18.1',
  major: 18,
  clockAheadMs: 3,
  uncertaintyMs: 1,
  synchronousCommit: 'on',
  fsync: true,
  standby: false,
  connections: { max: 297, open: 10 },
}
const bad = (findings: Finding[]) =>
  findings.filter(({ state }) => state !== 'ok').map(({ state, what }) => `${state} ${what}`)

describe('doctor: Postgres', () => {
  const separate = needsOf(false, false)
  const withQueue = needsOf(false, true)

  it.each<[Partial<ServerFacts>, Needs, string[]]>([
    [{}, separate, []],
    [{ version: '13.9', major: 13 }, separate, ['fail PostgreSQL 13.9 is too old']],
    [{ standby: true }, separate, ['fail the server is a standby and does not accept writes']],
    [{ fsync: false }, separate, ['fail fsync is off: a crash may destroy the database']],
    [
      { synchronousCommit: 'off' },
      separate,
      ['fail synchronous_commit is off: a crash loses pushes that were accepted with 200'],
    ],
    [{ synchronousCommit: 'remote_apply' }, separate, []],
    [
      { connections: { max: 97, open: 5 } },
      separate,
      [`warn 97 connections are allowed, but one of each program may open ${separate.connections}`],
    ],
    [
      { connections: { max: 150, open: 5 } },
      withQueue,
      [`warn 150 connections are allowed, but one of each program may open ${withQueue.connections}`],
    ],
    [{ connections: { max: 97, open: 5 } }, needsOf(true, true), []],
    [{ connections: { max: 97, open: 5 } }, needsOf(false, false, 5), []],
    [{ connections: { max: 100, open: 95 } }, separate, ['fail 95 of 100 connections are in use']],
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

  it('does not take a slow network for a wrong clock', () => {
    expect(judgeClock({ ...healthy, clockAheadMs: 3_000, uncertaintyMs: 2_500 })).toMatchObject({
      state: 'ok',
    })
  })

  it('lists pending migrations', () => {
    expect(judgeMigrations({ applied: ['a'], pending: [] })).toMatchObject({ state: 'ok' })
    expect(judgeMigrations({ applied: [], pending: ['a', 'b'] })).toMatchObject({
      state: 'fail',
      what: '2 migrations pending: a, b',
    })
  })
})

describe('doctor: queue', () => {
  const node = { address: 'r:6379', version: '7.2.1', role: 'master', policy: 'noeviction', appendOnly: true }
  const redis = (change: Partial<typeof node>, whole = true) =>
    bad(judgeQueue({ kind: 'redis', topology: 'single', nodes: [{ ...node, ...change }], whole }))

  it('reports settings that would lose jobs', () => {
    expect(redis({})).toEqual([])
    expect(redis({ policy: 'allkeys-lru' })).toEqual([
      'fail r:6379: maxmemory-policy is allkeys-lru: jobs may be evicted',
    ])
    expect(redis({ policy: '' })).toEqual(['warn r:6379: maxmemory-policy cannot be read'])
    expect(redis({ appendOnly: false })[0]).toMatch(/^warn r:6379: appendonly is off/)
    expect(redis({ version: '6.0.9' })).toEqual(['fail r:6379: Redis 6.0.9 is too old'])
    expect(redis({ version: '10.0.0' })).toEqual([])
    expect(redis({ role: 'slave' })).toEqual(['fail r:6379: it is a slave and does not accept writes'])
    expect(redis({}, false)).toEqual(['fail the Cluster does not serve all its slots'])
  })

  it('only warns when the queue tables are missing, because the first program creates them', () => {
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
  closedAt: null,
  probeAt: null,
  expiresAt: null,
  health: { breaker: null, holds: [], check_error: null, check_error_at: null },
}

describe('doctor: keys and certificates', () => {
  const now = Date.UTC(2027, 0, 1)
  const inDays = (days: number) => new Date(now + days * 86_400_000)

  it('reports closed, expired and soon expiring certificates', () => {
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
    expect(
      judge({ state: 'closed', lastError: 'bad secret', closedAt: inDays(-1), probeAt: inDays(0) }),
    ).toEqual([
      'fail flyme (production) of shop is closed: bad secret (since 2026-12-31 00:00 UTC, checked again at 2027-01-01 00:00 UTC)',
    ])
    const [overseas] = judgeCertificates([{ ...certificate, region: 'intl', state: 'suspect' }], now)
    expect(overseas).toMatchObject({
      what: expect.stringContaining('flyme (production, intl) of shop'),
      advice: expect.stringContaining('meizu --environment production --region intl --app shop'),
    })
    expect(worst(judgeCertificates([], now))).toBe('warn')
  })

  it('reports a silent vendor, refused parts and a failed check', () => {
    const at = now / 1000
    const health = {
      breaker: { since: at - 3600, retry_at: at + 60, code: 'flyme.http_503', reason: 'HTTP 503' },
      holds: [
        {
          scope: 'class service',
          kind: 'rejected' as const,
          code: 'oppo.67',
          reason: '67 category error',
          since: at - 60,
          until: at + 540,
          active: true,
        },
      ],
      check_error: 'the sign is wrong',
      check_error_at: at,
    }
    expect(bad(judgeCertificates([{ ...certificate, health }], now))).toEqual([
      'warn flyme (production) of shop: Meizu has not answered since 2026-12-31 23:00 UTC: HTTP 503. One batch is tried at 2027-01-01 00:01 UTC; the others wait.',
      'warn flyme (production) of shop: Meizu has refused messages of class service since 2026-12-31 23:59 UTC: 67 category error. They are not sent until 2027-01-01 00:09 UTC; all others are.',
      'warn flyme (production) of shop: The last check, at 2027-01-01 00:00 UTC, failed: the sign is wrong.',
    ])
  })

  it('reports that vendors cannot send receipts without a public address', () => {
    const apns: CertificateHealth = { ...certificate, channel: 'apns' }
    expect(bad(judgeReceipts([certificate, certificate, apns], undefined))).toEqual([
      'warn HERALD_PUBLIC_URL is not set, so there are no receipts of Meizu',
    ])
    expect(judgeReceipts([apns], undefined)).toEqual([])
    expect(judgeReceipts([certificate], 'https://push.example.com')).toEqual([])
  })

  it('reports whether the master key decrypts the secrets', () => {
    const judge = (current: number, others: number, broken: number) =>
      judgeMasterKey({ current, others, broken })
    expect(judgeMasterKey(undefined)).toMatchObject({ state: 'fail' })
    expect([judge(0, 0, 0), judge(5, 0, 0)].map(({ state }) => state)).toEqual(['ok', 'ok'])
    expect(judge(4, 1, 0)).toMatchObject({ state: 'warn' })
    expect(judge(3, 1, 2)).toMatchObject({
      state: 'fail',
      what: 'HERALD_MASTER_KEY does not decrypt 2 of 6 stored secrets',
    })
  })
})

describe('doctor: vendors', () => {
  const { vendorUrls } = readSettings({}).settings

  it('fails for a host that a certificate uses, and warns about others', () => {
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

  it('needs the hosts of the regions that certificates have', () => {
    const needed = (...certificates: Pick<CertificateHealth, 'channel' | 'region'>[]) =>
      hostsOf(
        vendorUrls,
        {},
        certificates.map((one) => ({ ...certificate, ...one })),
      )
        .filter((host) => host.needed)
        .map(({ name }) => name)
    expect(needed({ channel: 'meizu', region: 'intl' })).toEqual(['meizuIntl'])
    expect(needed({ channel: 'meizu' }, { channel: 'meizu', region: 'intl' })).toEqual(['meizu', 'meizuIntl'])
    expect(needed({ channel: 'huawei', region: 'intl' })).toEqual(['huaweiIntl', 'huaweiIntlAuth'])
    // The credentials of OPPO are valid in both regions, and the host is that of the token.
    expect(needed({ channel: 'oppo' })).toEqual(['oppo', 'oppoIntl'])
  })

  it('checks the simulator of a vendor instead of its hosts', () => {
    const hosts = hostsOf(vendorUrls, { flyme: 'http://127.0.0.1:9' }, [certificate])
    expect(hosts.filter(({ channel }) => channel === 'meizu')).toEqual([
      { name: 'meizu', url: 'http://127.0.0.1:9', channel: 'meizu', needed: true, simulated: true },
    ])
  })
})

it('doctor warns about a low limit of open files', () => {
  expect(judgeOpenFiles(1024)).toMatchObject([{ state: 'warn' }])
  expect(judgeOpenFiles(Number.POSITIVE_INFINITY)).toMatchObject([{ state: 'ok' }])
  expect(judgeOpenFiles(undefined)).toEqual([])
})
