import { recordFailedSignIn } from '@herald/db/tenants'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type CallOptions, OPERATOR_KEY, openTestApi, type TestApi } from './harness.ts'

let api: TestApi
beforeAll(async () => {
  api = await openTestApi()
})
afterAll(() => api.close())

const pool = () => api.context.db.pool
const bearer = { authorization: `Bearer ${OPERATOR_KEY}` }

async function whileAuditFails<T>(work: () => Promise<T>): Promise<T> {
  await pool().query(`CREATE OR REPLACE FUNCTION refuse_audit() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the audit is full'; END $$;
    CREATE TRIGGER refuse_audit BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION refuse_audit()`)
  try {
    return await work()
  } finally {
    await pool().query('DROP TRIGGER refuse_audit ON audit')
  }
}

const later = () => Math.floor(Date.now() / 1000) + 86_400
const scheduled = () => ({
  audience: 'all',
  message: { title: 'later', show_begin_time: later() },
})
const newTask = async () => (await api.call('/push/notify', { body: scheduled() })).data.task_id
const ids = { group: 0, user: 0, task: 0 }

type Case = [action: string, path: string, options: () => CallOptions, before?: () => Promise<void>]
const named = (cases: Case[]) => cases.map(([action, ...rest]) => ({ action, rest }))

const admin: Case[] = [
  ['certificate.save', '/admin/push/certificate', () => ({ method: 'PUT', body: certificate })],
  [
    'certificate.remove',
    '/admin/push/certificate/remove',
    () => ({ body: { provider: 2 } }),
    saveCertificate,
  ],
  ['application.settings', '/admin/app/settings', () => ({ method: 'PUT', body: { register_per_day: 7 } })],
  ['group.create', '/admin/group', () => ({ body: { name: 'audited' } })],
  [
    'group.member_add',
    '/admin/group/member/add',
    () => ({ body: { group_id: ids.group, user_ids: [ids.user] } }),
    async () => {
      ids.group = (await api.call('/admin/group', { body: { name: 'members' } })).data.group_id
      ids.user = (await api.user('member', { guid: 'member-phone' })).userId
    },
  ],
  [
    'group.member_remove',
    '/admin/group/member/remove',
    () => ({ body: { group_id: ids.group, user_ids: [ids.user] } }),
  ],
  ['group.remove', '/admin/group/remove', () => ({ body: { group_id: ids.group } })],
  ['user.create', '/admin/user', () => ({ body: { username: 'created', password: 'a-password' } })],
  ['user.password', '/admin/user/password', () => ({ body: { user_id: ids.user, password: 'b-password' } })],
  ['token.revoke', '/token/revoke', () => ({ body: {}, headers: { user_id: String(ids.user) } })],
  ['user.remove', '/admin/user/remove', () => ({ body: { user_id: ids.user } })],
  [
    'device.token',
    '/admin/device/token',
    () => ({ body: { device_guid: 'audited-phone' } }),
    async () => {
      await api.call('/admin/device', { method: 'PUT', body: { device_guid: 'audited-phone' } })
    },
  ],
  ['device.remove', '/admin/device/remove', () => ({ body: { device_guid: 'audited-phone' } })],
  ['person.erase', '/admin/erase', () => ({ body: { alias: 'somebody' } })],
  [
    'device.import',
    '/admin/device/import',
    () => ({ raw: '{"device_guid":"imported","platform":"android"}\n' }),
  ],
  ['identity.save', '/admin/identity', () => ({ method: 'PUT', body: identity })],
  ['identity.remove', '/admin/identity/remove', () => ({ body: {} })],
  [
    'task.pause',
    '/push/task/pause',
    () => ({ body: { task_id: ids.task } }),
    async () => {
      ids.task = await newTask()
    },
  ],
  ['task.resume', '/push/task/resume', () => ({ body: { task_id: ids.task } })],
  ['task.cancel', '/push/task/cancel', () => ({ body: { task_id: ids.task } })],
  ['token.admin', '/token/admin', () => ({ token: null, body: { app_secret: api.appSecret } })],
]
const certificate = { provider: 2, app_id: '1', app_secret: 'a-secret' }
const identity = {
  issuer: 'login.example.com',
  audience: 'app',
  public_key:
    '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n',
}

async function saveCertificate(): Promise<void> {
  await api.call('/admin/push/certificate', { method: 'PUT', body: certificate })
}

/** The rows of every table that these calls change, except the audit. */
async function everything(): Promise<string> {
  const tables = [
    'application',
    'application_setting',
    'certificate',
    'app_user',
    'user_group',
    'group_member',
  ]
  const texts = await Promise.all(
    [...tables, 'identity', 'task', 'device', 'binding'].map(async (table) => {
      const { rows } = await pool().query(`SELECT t::text AS row FROM ${table} t ORDER BY 1`)
      return `${table}\n${rows.map(({ row }) => row).join('\n')}`
    }),
  )
  return texts.join('\n')
}

const countOf = async (action: string) =>
  (await pool().query('SELECT count(*)::int AS n FROM audit WHERE action = $1', [action])).rows[0].n

describe('a change and its entry', () => {
  it.each(named(admin))(
    'are committed together: $action',
    async ({ action, rest: [path, options, before] }) => {
      await before?.()
      const former = await everything()
      const known = await countOf(action)
      const failed = await whileAuditFails(() => api.call(path, options()))
      expect(failed.status).toBe(500)
      expect(await everything()).toBe(former)
      const { status, message } = await api.call(path, options())
      expect({ status, message }).toEqual({ status: 200, message: null })
      expect(await countOf(action)).toBe(known + 1)
      const { list } = await api.client.auditList({ action })
      expect(list[0]).toMatchObject({ action, actor: expect.stringMatching(/^admin/), address: '127.0.0.1' })
    },
  )

  it('are committed together: calls of the operator', async () => {
    const call = (path: string, body: object) =>
      api.call(path, { appId: null, token: null, headers: bearer, body })
    const former = await everything()
    const made = () => call('/admin/app', { name: 'of the operator' })
    expect((await whileAuditFails(made)).status).toBe(500)
    expect(await everything()).toBe(former)
    const { app_id } = (await made()).data
    const renewed = () => call('/admin/app/secret', { app_id })
    const before = await everything()
    expect((await whileAuditFails(renewed)).status).toBe(500)
    expect(await everything()).toBe(before)
    expect((await renewed()).status).toBe(200)
    const { rows } = await pool().query('SELECT actor, action FROM audit WHERE app_id = $1 ORDER BY id', [
      app_id,
    ])
    expect(rows).toEqual([
      { actor: 'operator', action: 'application.create' },
      { actor: 'operator', action: 'application.secret' },
    ])
  })

  it('say that nothing has changed if nothing has', async () => {
    const task_id = await newTask()
    const known = await countOf('task.pause')
    for (let i = 0; i < 3; i++)
      expect((await api.call('/push/task/pause', { body: { task_id } })).status).toBe(200)
    expect(await countOf('task.pause')).toBe(known + 1)
  })
})

describe('a secret', () => {
  it('is not returned without its entry', async () => {
    await saveCertificate()
    const read = () => api.call('/push/certificate?provider=2')
    const refused = await whileAuditFails(read)
    expect(refused.status).toBe(500)
    expect(refused.text).not.toContain('a-secret')
    expect((await read()).data.app_secret).toBe('a-secret')
  })
})

describe('refused sign-ins', () => {
  it('are counted by what they say, and do not fill the table', async () => {
    const { appId } = await api.createApplication('flooded')
    const failed = (address: string) =>
      recordFailedSignIn(api.context.db, { appId, by: { actor: 'nobody', address }, action: 'login.failed' })
    for (let i = 0; i < 5; i++) await failed('10.0.0.1')
    for (let i = 0; i < 200; i++) await failed(`10.1.0.${i}`)
    await failed('10.0.0.1')
    const { rows } = await pool().query(
      `SELECT count(*)::int AS entries, sum((detail ->> 'count')::int)::int AS attempts,
         count(DISTINCT date_trunc('minute', at))::int AS minutes FROM audit WHERE app_id = $1`,
      [appId],
    )
    const [{ entries, attempts, minutes }] = rows
    expect(attempts).toBe(206)
    expect(entries).toBeLessThanOrEqual(101 * minutes)
  })

  it('fail if they cannot be recorded', async () => {
    const wrong = () => api.call('/token/admin', { token: null, body: { app_secret: 'wrong' } })
    expect((await whileAuditFails(wrong)).status).toBe(500)
    expect((await wrong()).code).toBe(40103)
  })
})

describe('the list', () => {
  it('has pushes and other actions in one order, page by page', async () => {
    const { appId, token } = await api.createApplication('listed')
    const call = (path: string, body: object) => api.call(path, { appId, token, body })
    const expected: string[] = []
    for (let i = 0; i < 12; i++) {
      if (i % 3 === 0) {
        await call('/admin/group', { name: `g${i}` })
        expected.unshift('group.create')
      } else {
        await call('/push/notify', scheduled())
        expected.unshift('push.notify')
      }
    }
    const pages: { id: string; action: string }[][] = []
    let before: string | undefined
    do {
      const { data } = await call('/admin/audit/list', { limit: 5, before })
      pages.push(data.list)
      before = data.next ?? undefined
    } while (before !== undefined)
    const all = pages.flat()
    expect(all.map(({ action }) => action)).toEqual(expected)
    expect(new Set(all.map(({ id }) => id)).size).toBe(12)
    expect(pages.map((page) => page.length)).toEqual([5, 5, 2])
  })

  it('has the sender of a push, the address and the audience', async () => {
    const { appId, token } = await api.createApplication('senders')
    const group = (await api.call('/admin/group', { appId, token, body: { name: 'red' } })).data.group_id
    const single = await api.call('/push/notify', { appId, token, body: scheduled() })
    const listed = await api.call('/push/notify/batch', {
      appId,
      token,
      headers: { group_id: String(group) },
      body: { list: [scheduled()] },
    })
    const { data } = await api.call('/admin/audit/list', { appId, token, body: { action: 'push.notify' } })
    expect(data.list).toMatchObject([
      {
        actor: `admin of group ${group}`,
        address: '127.0.0.1',
        detail: { task_id: listed.data.list[0].task_id, audience: 'all' },
      },
      { actor: 'admin', address: '127.0.0.1', detail: { task_id: single.data.task_id, audience: 'all' } },
    ])
    const search = { action: 'push.notify', actor: 'admin' }
    const own = await api.call('/admin/audit/list', { appId, token, body: search })
    expect(own.data.list).toMatchObject([{ detail: { task_id: single.data.task_id } }])
  })

  it('is limited by from and to', async () => {
    const { appId, token } = await api.createApplication('times')
    await api.call('/admin/group', { appId, token, body: { name: 'old' } })
    await pool().query(`UPDATE audit SET at = '2020-01-02T03:04:05.000001Z' WHERE app_id = $1`, [appId])
    await api.call('/push/notify', { appId, token, body: scheduled() })
    const at = Date.UTC(2020, 0, 2, 3, 4, 5) / 1000
    const list = async (body: object) =>
      (await api.call('/admin/audit/list', { appId, token, body })).data.list.map(
        ({ action }: { action: string }) => action,
      )
    expect(await list({})).toEqual(['push.notify', 'group.create'])
    expect(await list({ from: at, to: at + 1 })).toEqual(['group.create'])
    expect(await list({ to: at })).toEqual([])
    expect(await list({ from: at + 1 })).toEqual(['push.notify'])
  })

  it('is of one application, and not for groups', async () => {
    const { appId, token } = await api.createApplication('neighbour')
    expect((await api.call('/admin/audit/list', { appId, token, body: {} })).data).toEqual({
      list: [],
      next: null,
    })
    const group = (await api.call('/admin/group', { appId, token, body: { name: 'blue' } })).data.group_id
    const headers = { group_id: String(group) }
    expect((await api.call('/admin/audit/list', { appId, token, headers, body: {} })).code).toBe(40301)
    expect((await api.call('/admin/audit/list', { body: { before: 'yesterday' } })).code).toBe(40002)
  })

  it('has the entries of no application for the operator only', async () => {
    const wrong = { authorization: 'Bearer wrong' }
    await api.call('/admin/app/list', { appId: null, token: null, headers: wrong })
    const body = { action: 'operator.refused' }
    expect((await api.call('/admin/app/audit', { body })).code).toBe(40301)
    const { data } = await api.call('/admin/app/audit', { token: null, appId: null, headers: bearer, body })
    expect(data.list).toMatchObject([{ actor: 'nobody', action: 'operator.refused' }])
  })

  it('finds rare entries among many, in pages that may be empty', async () => {
    const { appId, token } = await api.createApplication('many')
    await pool().query(
      `INSERT INTO audit (app_id, at, actor, action) SELECT $1, now() - interval '1 hour' - n * interval '1 ms', 'admin',
         CASE WHEN n % 12000 = 11999 THEN 'task.cancel' ELSE 'token.admin' END FROM generate_series(1, 25000) n`,
      [appId],
    )
    const pages: number[] = []
    let before: string | undefined
    do {
      const body = { action: 'task.cancel', before }
      const { data } = await api.call('/admin/audit/list', { appId, token, body })
      pages.push(data.list.length)
      before = data.next ?? undefined
    } while (before !== undefined)
    expect(pages).toEqual([0, 1, 1])
  })
})
