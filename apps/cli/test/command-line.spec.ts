import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '@herald/db/store'
import { vendorChannels } from '@herald/domain'
import { findRunning, stopLeftBehind } from '@herald/embedded'
import { describeWith, freePort, type RunningProcess, startApp, startProcess } from '@herald/testkit'
import { fillDataDirectory } from '@herald/testkit/data-directory'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { records, runCli, runInProcess } from './run-cli.ts'

let dir: string
let dataDir: string
let herald: RunningProcess

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'herald-cli-'))
  dataDir = join(dir, 'data')
  await fillDataDirectory(dataDir)
  herald = startApp('apps/standalone/src/main.ts', {
    HERALD_PORT: String(await freePort()),
    HERALD_DATA_DIR: dataDir,
  })
  await herald.prints(/Herald is ready at/)
})
afterAll(async () => {
  await herald.stop()
  await stopLeftBehind(join(dataDir, 'postgres'))
  rmSync(dir, { recursive: true, force: true })
})

/** Without flags: server and credentials come from the data directory. */
const run = (...args: string[]) => runInProcess(args, { HERALD_DATA_DIR: dataDir })
const json = async (...args: string[]) => {
  const ran = await run(...args, '--json')
  return { ...ran, records: records(ran) }
}
/** As a program of its own. */
const start = (args: string[], input?: string) => runCli(args, { env: { HERALD_DATA_DIR: dataDir }, input })
const file = (name: string, content: string) => {
  const path = join(dir, name)
  writeFileSync(path, content)
  return path
}
const demo = () => JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'))

describe('applications and users', () => {
  it('are created without flags while the standalone is running', async () => {
    const created = await start(['app', 'create', 'Shop', '--package', 'com.example.shop', '--json'])
    expect(created).toMatchObject({ code: 0, stderr: '' })
    const [{ app_id, app_secret }] = records(created)
    expect((await json('app', 'list')).records).toContainEqual(
      expect.objectContaining({ app_id, name: 'Shop', package_name: 'com.example.shop' }),
    )
    const again = await run('app', 'create', 'Shop')
    expect(again).toEqual({ code: 1, stdout: '', stderr: 'An application with this name already exists.\n' })

    const as = ['--app', app_id, '--secret', app_secret]
    const token = await run('admin', 'token', ...as)
    expect(token.stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/)
    const user = await json('user', 'add', 'alice', ...as)
    const audit = await json('audit', 'list', '--action', 'user.create', ...as)
    expect(audit.records).toMatchObject([
      { actor: 'admin', detail: { user_id: String(user.records[0].user_id) } },
    ])
    expect((await run('audit', 'list', ...as)).stdout).toMatch(/user\.create +127\.0\.0\.1 +user_id=/)
    const login = await fetch(`${demo().base_url}/token/user`, {
      method: 'POST',
      headers: { app_id, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'alice', password: user.records[0].password }),
    })
    expect(await login.json()).toMatchObject({ code: 200, data: { user_id: user.records[0].user_id } })
  })
})

describe('settings of an application, and push tokens', () => {
  it('are shown and changed', async () => {
    const { app_id, app_secret } = (await json('app', 'create', 'Settings')).records[0]
    const as = ['--app', app_id, '--secret', app_secret]
    const defaults = {
      default_strategy: 'combined',
      default_ttl: 86_400,
      register: false,
      register_per_day: 10_000,
      caps: { per_device_per_day: null },
    }
    expect((await json('app', 'settings', ...as)).records).toEqual([defaults])
    const flags = '--register on --register-per-day 5 --default-strategy ospush_only --default-ttl 1h'
    const changed = await json('app', 'settings', ...flags.split(' '), '--per-device-per-day', '3', ...as)
    expect(changed.records).toEqual([
      {
        default_strategy: 'ospush_only',
        default_ttl: 3600,
        register: true,
        register_per_day: 5,
        caps: { per_device_per_day: 3 },
      },
    ])
    const back = '--default-strategy default --default-ttl default --per-device-per-day default'
    expect((await json('app', 'settings', ...back.split(' '), ...as)).records).toEqual([
      { ...defaults, register: true, register_per_day: 5 },
    ])
    const line = '{"device_guid":"a1","platform":"android"}\n'
    await json('device', 'import', file('one.ndjson', line), ...as)
    const [first, second] = [
      await json('device', 'token', 'a1', ...as),
      await json('device', 'token', 'a1', ...as),
    ]
    expect(first.records[0].push_token).toMatch(/^[\w-]{30}$/)
    expect(second.records[0].push_token).not.toBe(first.records[0].push_token)
  })
})

describe('secrets', () => {
  it('overlap while they are rotated', async () => {
    const { app_id, app_secret } = (await json('app', 'create', 'Rotated')).records[0]
    const rotated = await run('app', 'secret', app_id, '--keep-old', '1h')
    expect(rotated).toMatchObject({ code: 0, stderr: expect.stringContaining('valid for 1 h 0 min more') })
    const renewed = /app_secret {2}(\S+)/.exec(rotated.stdout)![1]!
    for (const secret of [app_secret, renewed])
      expect(await run('admin', 'token', '--app', app_id, '--secret', secret)).toMatchObject({ code: 0 })
    const again = (await json('app', 'secret', app_id)).records[0]
    expect(await run('admin', 'token', '--app', app_id, '--secret', again.app_secret)).toMatchObject({
      code: 0,
    })
    expect(await run('admin', 'token', '--app', app_id, '--secret', renewed)).toMatchObject({ code: 1 })
    expect(await run('app', 'secret', app_id, '--keep-old', '2d')).toMatchObject({ code: 2 })
  })
})

describe('webhooks and events', () => {
  it('are set, listed, tested, replayed and removed', async () => {
    const { app_id, app_secret } = (await json('app', 'create', 'Webhooks')).records[0]
    const as = ['--app', app_id, '--secret', app_secret]
    expect((await run('webhook', 'list', ...as)).stdout).toContain('There are no webhooks.')
    const set = ['webhook', 'set', 'crm', 'https://hooks.example.com/herald', '--events']
    const added = await run(...set, 'task.finished,device.sent', ...as)
    expect(added).toMatchObject({ code: 0, stderr: expect.stringContaining('Store the secret') })
    const id = /webhook_id {2}(\d+)/.exec(added.stdout)![1]!
    expect(added.stdout).toMatch(/secret {6}whsec_\S+\n/)
    expect((await json(...set, 'task.finished', '--campaign', 'spring', ...as)).records).toEqual([
      { webhook_id: Number(id) },
    ])
    expect((await json('webhook', 'list', ...as)).records).toMatchObject([
      { webhook_id: Number(id), name: 'crm', events: ['task.finished'], campaign: 'spring', state: 'active' },
    ])
    expect((await run('webhook', 'list', ...as)).stdout).toMatch(/crm +active +0 +0 +- +https/)
    // No server has this address.
    expect(await run('webhook', 'test', id, ...as)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The test failed:'),
    })
    expect(await run('webhook', 'replay', id, '--since', '2026-01-31', ...as)).toMatchObject({ code: 0 })
    expect(await run('webhook', 'replay', id, ...as)).toMatchObject({ code: 2 })
    expect(await run(...set, 'task.done', ...as)).toMatchObject({ code: 2 })
    expect((await run('event', 'list', ...as)).stdout).toContain('There are no events.')
    expect(await run('webhook', 'remove', id, ...as)).toMatchObject({ code: 0 })
    expect(await run('webhook', 'remove', id, ...as)).toMatchObject({ code: 1 })
  })
})

describe('sign-in tokens of the own system', () => {
  it('are set, shown and removed', async () => {
    const { app_id, app_secret } = (await json('app', 'create', 'Identity')).records[0]
    const as = ['--app', app_id, '--secret', app_secret]
    expect((await run('identity', 'show', ...as)).stdout).toContain('nothing is set')
    const pem = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey
    const key = file('key.pem', pem.export({ type: 'spki', format: 'pem' }).toString())
    const set = ['identity', 'set', '--issuer', 'https://id.example.com', '--audience', 'shop']
    const saved = await json(...set, '--public-key', key, '--user-claim', 'uid', ...as)
    expect(saved.records).toMatchObject([
      { issuer: 'https://id.example.com', audience: 'shop', user_claim: 'uid', jwks_url: null },
    ])
    expect((await run('identity', 'show', ...as)).stdout).toContain('keys        one public key (ES256)\n')
    expect(await run(...set, ...as)).toMatchObject({
      code: 2,
      stderr: 'Use either --jwks-url or --public-key.\n',
    })
    expect(await run('identity', 'remove', ...as)).toMatchObject({ code: 0 })
    expect((await json('identity', 'show', ...as)).records).toEqual([null])
  })
})

describe('devices and tags', () => {
  it('are written, tagged, removed and erased', async () => {
    const { app_id, app_secret } = (await json('app', 'create', 'Devices')).records[0]
    const as = ['--app', app_id, '--secret', app_secret]
    const flags =
      '--platform android --alias customer-17 --add-tag vip --binding vivo=15000000000000000000017'
    const put = await json('device', 'put', 'g1', ...flags.split(' '), '--attributes', '{"level":3}', ...as)
    expect(put.records).toEqual([{ push_token: expect.stringMatching(/^[\w-]{30}$/), created: true }])
    const changed = await run('device', 'put', 'g1', '--clear', 'attributes', '--enabled', 'off', ...as)
    expect(changed).toMatchObject({ code: 0, stdout: `${put.records[0].push_token}\n` })
    expect(await run('device', 'put', 'g1', '--platform', 'car', ...as)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('platform must be one of'),
    })

    const lines = [
      '{"device_guid":"g2","alias":"customer-18"}',
      'nonsense',
      '{"device_guid":"g3","platform":"car"}',
    ]
    const refused = join(dir, 'refused.ndjson')
    const batch = await json(
      'device',
      'batch',
      file('batch.ndjson', lines.join('\n')),
      '--refused',
      refused,
      ...as,
    )
    expect(batch).toMatchObject({ code: 1, stderr: '' })
    expect(batch.records).toMatchObject([{ lines: 3, created: 1, updated: 0, failed: 2 }])
    expect(readFileSync(refused, 'utf8')).toBe(`${lines[1]}\n${lines[2]}\n`)

    const people = file('people.txt', 'customer-17\ncustomer-18\nnobody\n')
    expect((await json('tag', 'add', 'sale', '--file', people, ...as)).records).toEqual([
      { added: 2, removed: 0, unknown: [{ alias: 'nobody' }], unknown_count: 1 },
    ])
    expect((await json('tag', 'list', ...as)).records).toEqual([
      { tag: 'sale', devices: 2 },
      { tag: 'vip', devices: 1 },
    ])
    expect((await run('tag', 'remove', 'sale', '--device', 'g2', ...as)).stdout).toBe(
      'Removed from 1 device.\n',
    )
    expect(await run('tag', 'add', 'sale', ...as)).toMatchObject({ code: 2 })

    expect(await run('device', 'remove', 'g2', ...as)).toMatchObject({ code: 0 })
    expect(await run('device', 'remove', 'g2', ...as)).toMatchObject({ code: 1 })
    const erase = (input: string, ...more: string[]) =>
      start(['device', 'erase', '--alias', 'customer-17', ...more, ...as], input)
    expect(await erase('customer-18\n')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Nothing was erased'),
    })
    expect(await erase('')).toMatchObject({ code: 1 })
    expect(await erase('customer-17\n')).toMatchObject({ code: 0, stdout: 'Erased: 1 device.\n' })
    expect(await erase('', '--yes')).toMatchObject({ code: 0, stdout: 'Erased: 0 devices.\n' })
  })
})

describe('certificates', () => {
  it('are set for the vendors with the terms of their consoles', async () => {
    const { records: made } = await json('app', 'create', 'Vendors')
    const { app_id, app_secret } = made[0]
    const as = ['--app', app_id, '--secret', app_secret]
    const secret = file('secret.txt', 'U2VjcmV0U2VjcmV0U2VjcmV0\n')
    const p8 = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const pem = (key: typeof p8) => key.export({ type: 'pkcs8', format: 'pem' }).toString()
    const account = {
      type: 'service_account',
      project_id: 'shop-1',
      private_key_id: 'k',
      private_key: pem(rsa),
      client_email: 'push@shop-1.iam.gserviceaccount.com',
      token_uri: 'https://oauth2.googleapis.com/token',
    }
    const app = ['--app-id', '1001', '--app-key', '2002']
    const sets = [
      [
        'apns',
        '--bundle-id',
        'com.example.shop',
        '--key-id',
        'ABC1234567',
        '--team-id',
        'DEF1234567',
        '--p8',
        file('key.p8', pem(p8)),
      ],
      ['fcm', '--service-account', file('account.json', JSON.stringify(account))],
      ['huawei', '--client-id', '1001', '--project-id', '736', '--client-secret-file', secret],
      ['honor', '--app-id', '1001', '--client-id', '2002', '--client-secret-file', secret],
      ['xiaomi', ...app, '--app-secret-file', secret, '--extra', '{"package_name":"com.example.shop"}'],
      ['oppo', ...app, '--master-secret-file', secret],
      ['vivo', ...app, '--app-secret-file', secret],
      ['flyme', ...app, '--app-secret-file', secret],
    ]
    const answers = await Promise.all(sets.map((set) => json('certificate', 'set', ...set, ...as)))
    expect(answers.map(({ stderr, records: [record] }) => [stderr, record?.environment])).toEqual(
      sets.map(() => ['', 1]),
    )
    const { records: list } = await json('certificate', 'list', ...as)
    expect(list.map(({ channel, app_id }) => [channel, app_id]).sort()).toEqual([
      ['apns', 'com.example.shop'],
      ['fcm', ''],
      ['flyme', '1001'],
      ['honor', '1001'],
      ['huawei', '1001'],
      ['oppo', '1001'],
      ['vivo', '1001'],
      ['xiaomi', '1001'],
    ])
    expect(JSON.stringify(list)).not.toContain('U2VjcmV0')
    const checked = await json('certificate', 'check', 'vivo', ...as)
    expect(checked).toMatchObject({ code: 0, records: [{ vendor: 'vivo', ok: true, simulator: true }] })
  })

  it('are listed with what is the matter with them', async () => {
    const { app_id, app_secret } = (await json('app', 'create', 'Troubled')).records[0]
    const as = ['--app', app_id, '--secret', app_secret]
    const app = ['--app-id', '1001', '--app-key', '2002']
    const saved = await run('certificate', 'set', 'oppo', ...app, '--master-secret', 'wrong', ...as)
    expect(saved.stdout).toMatch(/^warning: extra\.classes\.service\.category is not set/m)
    await run('certificate', 'set', 'vivo', ...app, '--app-secret', 'wrong', ...as)
    // The simulators of a standalone accept every credential.
    const setFaults = (faults: object) =>
      fetch(`${demo().simulators.vivo}/_sim/faults`, { method: 'POST', body: JSON.stringify(faults) })
    await setFaults({ refuseAuth: true })
    const checked = await run('certificate', 'check', 'vivo', ...as)
    await setFaults({})
    expect(checked.stdout).toMatch(/^bad {3}vivo, production \(answered by a simulator\): /)
    const db = openDatabase(findRunning(join(dataDir, 'postgres'))!, { max: 1 })
    try {
      await db.pool.query(
        `UPDATE certificate SET state = 'closed', last_error = 'wrong secret', closed_at = '2099-01-01 10:00Z',
           probe_at = '2099-01-01 10:15Z', probes = 3 WHERE app_id = $1 AND channel = 'vivo'`,
        [app_id],
      )
      await db.pool.query(
        `INSERT INTO breaker (certificate_id, failures, opened_at, retry_at, code, text)
         SELECT id, 1, '2099-01-01 10:00Z', '2099-01-01 10:01Z', 'oppo.http', 'HTTP 503' FROM certificate
         WHERE app_id = $1 AND channel = 'oppo'`,
        [app_id],
      )
      const { stdout } = await run('certificate', 'list', ...as)
      expect(stdout).toMatch(/^oppo .* no answer /m)
      expect(stdout).toMatch(/^oppo: OPPO has not answered since .*: .*HTTP 503\. One batch is tried at /m)
      expect(stdout).toMatch(/^vivo .* refused /m)
      expect(stdout).toContain(
        'vivo: wrong secret (closed since 2099-01-01 10:00:00 UTC, 3 failed probes, checked again at 2099-01-01 10:15:00 UTC)\n',
      )
      expect(stdout).toMatch(
        /^vivo: The last check, .*, failed: .*\(answered by a simulator, not by the vendor\)\.$/m,
      )
      const findings = (await json('doctor', '--no-vendors')).records[0].findings as { what: string }[]
      const doctor = findings.map(({ what }) => what).filter((what) => what.includes(app_id))
      expect(doctor).toEqual([
        expect.stringContaining('OPPO has not answered since'),
        expect.stringContaining(
          'is closed: wrong secret (since 2099-01-01 10:00 UTC, checked again at 2099-01-01 10:15 UTC)',
        ),
        expect.stringContaining('The last check'),
      ])
    } finally {
      await db.pool.query('DELETE FROM certificate WHERE app_id = $1', [app_id])
      await db.close()
    }
  })

  it('are set, checked, listed and removed by region', async () => {
    const { app_id, app_secret } = (await json('app', 'create', 'Regions')).records[0]
    const as = ['--app', app_id, '--secret', app_secret]
    const set = (...more: string[]) =>
      json('certificate', 'set', 'meizu', '--app-id', '1', '--app-secret', 'secret', ...more, ...as)
    expect((await set()).records).toEqual([expect.objectContaining({ region: 'cn' })])
    const overseas = await set('--region', 'intl', '--extra', '{"vip":true}', '--check')
    expect(overseas.records).toEqual([
      expect.objectContaining({ region: 'intl', check: expect.objectContaining({ ok: true }) }),
    ])
    const listed = async () =>
      (await json('certificate', 'list', ...as)).records.map(({ region, extra }) => [region, extra])
    expect(await listed()).toEqual([
      ['cn', {}],
      ['intl', { vip: true, region: 'intl' }],
    ])
    const checked = await json('certificate', 'check', 'meizu', '--region', 'intl', ...as)
    expect(checked.records).toMatchObject([{ vendor: 'meizu', region: 'intl' }])
    const all = await json('certificate', 'check', ...as)
    expect(all.records.map(({ region }) => region)).toEqual(['cn', 'intl'])
    expect(await run('certificate', 'remove', 'meizu', '--region', 'intl', ...as)).toMatchObject({
      code: 0,
      stdout: 'The production (intl) certificate of Meizu is removed.\n',
    })
    expect(await listed()).toEqual([['cn', {}]])
    expect(await run('certificate', 'set', 'vivo', '--region', 'cn')).toMatchObject({ code: 2 })
  })

  it('are refused with the message of the API', async () => {
    expect(
      await run(
        'certificate',
        'set',
        'xiaomi',
        '--app-id',
        '1',
        '--app-key',
        '2',
        '--app-secret',
        'x',
        // Otherwise that of the demo is kept.
        '--extra',
        '{}',
      ),
    ).toEqual({
      code: 1,
      stdout: '',
      stderr: 'extra.package_name is missing: enter the package registered in the Xiaomi console.\n',
    })
    const both = await run('certificate', 'set', 'apns', '--team-id', 'T', '--passphrase', 'p')
    expect(both).toMatchObject({ code: 2, stderr: '--team-id and --passphrase cannot be used together.\n' })
  })

  it('stay as they are if the vendor refuses the new ones', async () => {
    const { app_id, app_secret } = (await json('app', 'create', 'Renewed')).records[0]
    const as = ['--app', app_id, '--secret', app_secret]
    const set = (...more: string[]) =>
      run(
        'certificate',
        'set',
        'vivo',
        '--app-id',
        '1',
        '--app-key',
        '2',
        '--app-secret',
        's',
        ...more,
        ...as,
      )
    await set('--name', 'first')
    const setFaults = (faults: object) =>
      fetch(`${demo().simulators.vivo}/_sim/faults`, { method: 'POST', body: JSON.stringify(faults) })
    await setFaults({ refuseAuth: true })
    const refused = await set('--name', 'second', '--check')
    await setFaults({})
    expect(refused.code).toBe(1)
    expect(refused.stdout).toMatch(/^bad {3}vivo \(answered by a simulator\): .*\nNothing was saved\.\n$/)
    const names = async () => (await json('certificate', 'list', ...as)).records.map(({ name }) => name)
    expect(await names()).toEqual(['first'])
    expect(await set('--name', 'second', '--check')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^ok .*\nThe production certificate of vivo is saved\.\n/),
    })
    expect(await names()).toEqual(['second'])
  })

  it('are verified with the vendors', async () => {
    const { code, records: checks } = await json('certificate', 'check')
    expect(code).toBe(0)
    expect(checks.map(({ ok }) => ok)).toEqual(vendorChannels.map(() => true))
  })
})

const importLine = (number: number) =>
  JSON.stringify({
    device_guid: `cli-${number}`,
    platform: 'android',
    tags: ['imported'],
    bindings: [{ provider: 5, device_token: String(10n ** 22n + BigInt(number)) }],
  })

describe('the import of devices', () => {
  it('reports refused lines, and reads stdin', async () => {
    const lines = [importLine(1), 'nonsense', importLine(2), '']
    const first = await json('device', 'import', file('devices.ndjson', lines.join('\n')))
    expect(first).toMatchObject({ code: 1, stderr: '' })
    expect(first.records).toEqual([
      {
        lines: 3,
        created: 2,
        updated: 0,
        unchanged: 0,
        failed: 1,
        errors: [{ line: 2, error: 'Line 2: is not valid JSON.' }],
      },
    ])
    const many = Array.from({ length: 1_500 }, (_, i) => importLine(i)).join('\n')
    const second = await start(['device', 'import', '-'], many)
    expect(second.code).toBe(0)
    expect(second.stdout).toMatch(/^1,500 lines in .*: 1,498 created, 0 updated, 2 unchanged, 0 refused\.\n$/)
    // No progress bar without a terminal.
    expect(second.stderr).toBe('')
    const missing = await run('device', 'import', join(dir, 'nowhere'))
    expect(missing).toMatchObject({ code: 1, stderr: `${join(dir, 'nowhere')} cannot be read (ENOENT).\n` })
  })
})

describe('a push', () => {
  it('is sent, watched, listed and explained', async () => {
    const sent = await json('notify', '--tag', 'vip', '--title', 'Hello', '--wait', '--timeout', '180')
    expect(sent).toMatchObject({ code: 0, stderr: '' })
    const { task_id } = sent.records[0]
    expect(sent.records.at(-1)).toMatchObject({
      task_id,
      state: 'finished',
      target: 2,
      sent: 2,
      channels: [
        { channel: 'apns', target: 1, sent: 1 },
        { channel: 'huawei', target: 1, sent: 1 },
      ],
    })
    const [detail, list, failures, watched, explained] = await Promise.all([
      json('task', 'detail', String(task_id)),
      json('task', 'list', '--limit', '5'),
      json('task', 'failures', String(task_id)),
      run('task', 'watch', String(task_id)),
      json('explain', '--device', 'demo-several'),
    ])
    expect(detail.records).toMatchObject([{ task_id, apns_target: 1, huawei_sent: 1, nativepush_target: 0 }])
    expect(list.records).toContainEqual(expect.objectContaining({ task_id, title: 'Hello' }))
    expect(failures).toMatchObject({ code: 0, records: [] })
    expect(watched.stdout).toMatch(
      /^finished after \d+ s: 2 devices, 2 sent\.\nchannel +target +sent +received\n/,
    )
    expect(explained.records[0]).toMatchObject({ channel: 'huawei', others: expect.any(Array) })
  })

  it('is counted before, sent from a file, and recalled', async () => {
    const counted = await json('count', '--tag', 'vip')
    expect(counted).toMatchObject({ code: 0, stderr: '' })
    expect(counted.records).toEqual([
      { devices: 2, by_channel: { apns: 1, huawei: 1 }, unreachable: 0, exact: true },
    ])
    expect((await run('count', '--alias', 'nobody')).stdout).toBe('0 devices, 0 unreachable\n')
    expect(await run('count')).toMatchObject({ code: 2 })

    const line = (title: string, request_id: string) =>
      JSON.stringify({
        audience: { tag: ['vip'] },
        setting: { request_id, distribution_strategy: 'ospush_only' },
        message: { title },
      })
    const good = [line('One', 'cli-1'), line('Two', 'cli-2')]
    const path = file('pushes.ndjson', `${good.join('\n')}\n{"audience":"all"}\nno JSON\n`)
    const sent = await json('notify-batch', path)
    expect(sent.code).toBe(1)
    const results = sent.records.toSorted((a, b) => a.line - b.line)
    expect(results).toMatchObject([
      { line: 1, task_id: expect.any(Number) },
      { line: 2, task_id: expect.any(Number) },
      { line: 3, code: 40004, message: expect.any(String) },
      { line: 4, message: expect.any(String) },
    ])
    const again = await start(['notify-batch', '-'], `${good.join('\n')}\n`)
    expect(again).toMatchObject({ code: 0, stdout: '0 accepted, 2 repeated, 0 refused.\n', stderr: '' })

    const id = String(results[0].task_id)
    expect((await json('task', 'watch', id)).records.at(-1)).toMatchObject({ state: 'finished', sent: 2 })
    const dry = await json('task', 'recall', id, '--dry-run')
    expect(dry.records[0]).toMatchObject({
      task_id: null,
      channels: [
        { channel: 'apns', devices: 1, can: 'replace', does: 'none' },
        { channel: 'huawei', devices: 1, can: 'withdraw' },
      ],
    })
    const replace = ['task', 'recall', id, '--replace', '{"title":"Corrected"}', '--request-id', 'cli-recall']
    const recalled = await json(...replace)
    const recallId = recalled.records[0].task_id
    expect(recalled.records[0].channels).toMatchObject([{ does: 'replace' }, { does: 'replace' }])
    const repeated = await run(...replace)
    expect(repeated.stdout).toContain(`task_id  ${recallId} (request_id repeated: nothing was done)\n`)
    expect((await json('task', 'watch', String(recallId))).records.at(-1)).toMatchObject({
      state: 'finished',
      target: 2,
    })
    expect(await run('task', 'recall', '1')).toMatchObject({
      code: 1,
      stderr: 'The task 1 does not exist.\n',
    })
  })

  it('is followed to its devices, exported and summed', async () => {
    const [{ task_id }] = (
      await json(
        'notify',
        '--alias',
        'bob',
        '--strategy',
        'ospush_only',
        '--title',
        'Spring',
        '--campaign',
        'spring',
        '--wait',
      )
    ).records
    const [path, exported, messages, stats, list, refused] = await Promise.all([
      json('task', 'device', String(task_id), '--device', 'demo-several'),
      run('task', 'export', String(task_id)),
      json('device', 'messages', '--device', 'demo-several', '--limit', '1'),
      json('stats', '--campaign', 'spring'),
      json('task', 'list', '--campaign', 'spring'),
      run('task', 'device', String(task_id)),
    ])
    expect(path.records).toMatchObject([{ device_guid: 'demo-several', clicked_at: null }])
    expect(path.records[0].path.at(-1)).toMatchObject({ fate: 'sent' })
    const lines = exported.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(exported.code).toBe(0)
    expect(lines.at(-1)).toMatchObject({ equal: true, lines: lines.length - 1 })
    expect(lines.filter(({ fate }) => fate === 'sent')).toHaveLength(2)
    expect(messages.records[0]).toMatchObject({ task_id, title: 'Spring', campaign: 'spring', fate: 'sent' })
    expect(stats.records[0].total).toMatchObject({ sent: 2, failed: 0 })
    expect(list.records).toMatchObject([{ task_id, campaign: 'spring', clicked: 0 }])
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('Use one of --device') })
  })

  it('is not waited for when only offline devices are left', async () => {
    const sent = await run('notify', '--tag', 'demo', '--title', 'x', '--strategy', 'combined', '--wait')
    expect(sent.code).toBe(0)
    expect(sent.stdout).toMatch(/finished after .*: (\d+) devices, \d+ sent, 1 waiting for their devices\./)
    expect(sent.stderr).toMatch(/1 device offline/)
  })

  it('is paused, resumed and cancelled before its start time', async () => {
    const scheduled = await json(
      'notify',
      '--all',
      '--title',
      'Later',
      '--begin',
      '+1h',
      '--link',
      'shop://7',
    )
    const id = String(scheduled.records[0].task_id)
    const { body } = (await json('task', 'request', id)).records[0]
    expect(JSON.parse(body).message).toMatchObject({ click_action: 'url', url: 'shop://7' })
    expect((await run('task', 'pause', id)).stdout).toBe(`The task ${id} is paused.\n`)
    expect((await json('task', 'list', '--limit', '1')).records[0].state).toBe('paused')
    expect((await json('task', 'resume', id)).records).toEqual([
      { task_id: Number(id), ok: true, problem: null },
    ])
    const late = await run('task', 'watch', id, '--timeout', '1')
    expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('has not finished within 1 s') })
    expect((await run('task', 'cancel', id)).code).toBe(0)
    const watched = await json('task', 'watch', id)
    expect(watched).toMatchObject({ code: 1 })
    expect(watched.records.at(-1)).toMatchObject({ state: 'cancelled', target: 0 })
    expect(await run('task', 'pause', id)).toMatchObject({
      code: 1,
      stderr: `The task ${id} has ended or is being cancelled.\n`,
    })
  })
})

describe('doctor and balance', () => {
  it('find no failure in a healthy standalone', async () => {
    const { code, stderr, records: reports } = await json('doctor')
    expect(stderr).toBe('')
    expect(reports).toHaveLength(1)
    const [{ ok, findings }] = reports
    expect(findings.filter(({ state }: { state: string }) => state === 'fail')).toEqual([])
    expect({ code, ok }).toEqual({ code: 0, ok: true })
    expect(new Set(findings.map(({ area }: { area: string }) => area))).toEqual(
      new Set([
        'settings',
        'herald',
        'postgres',
        'clock',
        'migrations',
        'keys',
        'certificates',
        'queue',
        'vendors',
        'machine',
        'balance',
      ]),
    )
  })

  it('name the database of the standalone', async () => {
    const url = findRunning(join(dataDir, 'postgres'))!
    expect(await run('database-url')).toMatchObject({ code: 0, stdout: `${url}\n` })
    expect((await json('database-url')).records).toEqual([{ url }])
  })

  it('show a row that does not balance, and exit with 1', async () => {
    const good = await json('balance')
    expect(good).toMatchObject({ code: 0, records: [{ balanced: true, broken: [] }] })
    const db = openDatabase(findRunning(join(dataDir, 'postgres'))!, { max: 1 })
    try {
      await db.pool.query(`UPDATE counter SET sent = sent + 1 WHERE channel = 'huawei'`)
      const bad = await json('balance')
      expect(bad).toMatchObject({ code: 1, records: [{ balanced: false }] })
      expect(bad.records[0].broken[0]).toMatchObject({ channel: 'huawei' })
      const text = await run('balance')
      expect(text.stdout).toMatch(/^task +channel +target .*\n(.*huawei.*\n)+Out of balance: \d+ rows?\.\n$/)
      await db.pool.query(`UPDATE counter SET sent = sent - 1 WHERE channel = 'huawei'`)
    } finally {
      await db.close()
    }
  })
})

describe('invalid arguments', () => {
  it.each([
    [['frobnicate'], 2, /^Unknown command 'frobnicate'\.$/],
    [['notify', '--tittle', 'x'], 2, /^Unknown option '--tittle' \(Did you mean --title\?\)$/],
    [['notify', '--title', 'x'], 2, /The audience is missing/],
    [['notify', '--all'], 1, /message must not be blank/],
    [['task', 'detail', '99'], 1, /The task 99 does not exist\./],
    [
      ['app', 'list', '--url', 'http://127.0.0.1:1', '--operator-key', 'k'],
      1,
      /127\.0\.0\.1:1 cannot be reached .*npm start/,
    ],
  ])('%j are explained', async (args, code, sentence) => {
    const ran = await start([...args, '--json'])
    expect(ran).toMatchObject({ code, stdout: '' })
    expect(ran.stderr.trimEnd()).toMatch(sentence)
    expect(ran.stderr.trimEnd().split('\n')).toHaveLength(1)
  })

  it('help has examples', async () => {
    const help = [await start(['notify', '--help']), await run('certificate', 'set', 'oppo', '--help')]
    for (const { code, stdout } of help) {
      expect(code).toBe(0)
      expect(stdout).toContain('Examples:\n  $ npm run herald -- ')
    }
  })
})

describeWith('script')('on a terminal', () => {
  it('a progress bar is drawn', async () => {
    const words = [
      process.execPath,
      'apps/cli/src/herald.ts',
      'notify',
      '--tag',
      'imported',
      '--title',
      'x',
      '--wait',
    ]
    const terminal = startProcess('script', ['-qec', words.join(' '), '/dev/null'], {
      env: { HERALD_DATA_DIR: dataDir, TERM: 'xterm' },
    })
    expect((await terminal.exited).code).toBe(0)
    expect(terminal.output()).toMatch(/[█░]{16} +\d+% (sending|finished|planning|accepted) .*target/)
    expect(terminal.output()).toMatch(/finished after .*: 1,500 devices, 1,500 sent/)
  })
})
