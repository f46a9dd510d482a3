import { generateKeyPairSync } from 'node:crypto'
import { moveOutbox } from '@herald/db/events'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openApiDocument } from '../src/openapi/document.ts'
import type { JsonSchema } from '../src/openapi/schemas.ts'
import { type Answer, freeLimits, OPERATOR_KEY, openTestApi, type TestApi } from './harness.ts'

/**
 * Who may make which call, written down independently of the routes: a route whose access is changed by mistake, or a new
 * one without a rule, fails here.
 */
type Rule =
  | 'login'
  | 'holder'
  | 'user'
  | 'anyone, no group'
  | 'admin'
  | 'admin, no group'
  | 'admin or operator, no group'
  | 'operator'
const rules: Record<string, Rule> = {
  'POST /token/id': 'login',
  'POST /token/login': 'login',
  'POST /token/user': 'login',
  'POST /token/admin': 'login',
  'POST /token/exchange': 'login',
  'POST /token/revoke': 'anyone, no group',
  'GET /push/certificate': 'anyone, no group',
  'POST /push/notify': 'admin',
  'POST /push/notify/batch': 'admin',
  'POST /push/explain': 'admin',
  'POST /push/audience/count': 'admin',
  'POST /push/task/detail': 'admin',
  'POST /push/task/list': 'admin',
  'POST /push/task/cancel': 'admin',
  'POST /push/task/pause': 'admin',
  'POST /push/task/resume': 'admin',
  'POST /push/task/recall': 'admin',
  'POST /push/task/failures': 'admin',
  'POST /push/task/channels': 'admin',
  'POST /push/task/request': 'admin',
  'POST /push/task/device': 'admin',
  'GET /push/task/export': 'admin',
  'POST /push/stats': 'admin',
  'POST /push/register': 'holder',
  'POST /push/receipt': 'holder',
  'POST /user/token/bind': 'holder',
  'POST /user/token/unbind': 'holder',
  'POST /user/activity': 'holder',
  'DELETE /user/activity': 'holder',
  'POST /user/activity/remove': 'holder',
  'POST /user/push/badge': 'holder',
  'GET /user/push/tag': 'user',
  'POST /user/push/tag': 'user',
  'DELETE /user/push/tag': 'user',
  'DELETE /user/push/tag/all': 'user',
  'POST /user/push/tag/remove': 'user',
  'POST /user/push/tag/all/remove': 'user',
  'POST /user/push/alias/remove': 'user',
  'POST /user/push/alias': 'user',
  'DELETE /user/push/alias': 'user',
  'POST /user/device/list': 'user',
  'POST /user/device/remove': 'user',
  'POST /admin/user': 'admin',
  'POST /admin/user/list': 'admin',
  'POST /admin/user/remove': 'admin',
  'POST /admin/user/password': 'admin',
  'POST /admin/group': 'admin, no group',
  'POST /admin/group/list': 'admin, no group',
  'POST /admin/group/remove': 'admin, no group',
  'POST /admin/group/member/add': 'admin',
  'POST /admin/group/member/remove': 'admin',
  'POST /admin/group/member/list': 'admin',
  'PUT /admin/push/certificate': 'admin, no group',
  'GET /admin/push/certificate/list': 'admin, no group',
  'POST /admin/push/certificate/check': 'admin, no group',
  'POST /admin/push/certificate/remove': 'admin, no group',
  'PUT /admin/device': 'admin, no group',
  'POST /admin/device/batch': 'admin, no group',
  'POST /admin/device/remove': 'admin',
  'POST /admin/tag/member': 'admin, no group',
  'POST /admin/tag/list': 'admin, no group',
  'POST /admin/device/import': 'admin, no group',
  'POST /admin/device/list': 'admin',
  'POST /admin/device/messages': 'admin',
  'POST /admin/device/token': 'admin',
  'POST /admin/erase': 'admin, no group',
  'PUT /admin/app/settings': 'admin, no group',
  'GET /admin/app/settings': 'admin, no group',
  'POST /admin/audit/list': 'admin, no group',
  'PUT /admin/identity': 'admin, no group',
  'GET /admin/identity': 'admin, no group',
  'POST /admin/identity/remove': 'admin, no group',
  'PUT /admin/webhook': 'admin, no group',
  'GET /admin/webhook/list': 'admin, no group',
  'POST /admin/webhook/test': 'admin, no group',
  'POST /admin/webhook/replay': 'admin, no group',
  'POST /admin/webhook/remove': 'admin, no group',
  'POST /admin/event/list': 'admin, no group',
  'POST /admin/app': 'operator',
  'PUT /admin/app': 'operator',
  'POST /admin/app/secret': 'admin or operator, no group',
  'GET /admin/app/list': 'operator',
  'POST /admin/app/audit': 'operator',
}

const operations = Object.entries(openApiDocument().paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => {
    const content = (operation.requestBody as { content?: Record<string, { schema: JsonSchema }> })?.content
    return {
      name: `${method.toUpperCase()} ${path}`,
      path,
      method: method.toUpperCase(),
      schema: content?.['application/json']?.schema,
      takesBody: content?.['application/json'] !== undefined,
      query: operation.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name),
    }
  }),
)

type Who =
  | 'nobody'
  | 'user'
  | 'admin'
  | 'operator'
  | 'foreign user'
  | 'foreign admin'
  | 'expired user'
  | 'expired admin'
  | 'revoked user'
  | 'revoked admin'
  | 'file token'
type Acting =
  | 'as oneself'
  | 'as user'
  | 'as other'
  | 'as foreign user'
  | 'for group'
  | 'for foreign group'
  | 'both'

const everyone: Who[] = [
  'nobody',
  'user',
  'admin',
  'operator',
  'foreign user',
  'foreign admin',
  'expired user',
  'expired admin',
  'revoked user',
  'revoked admin',
  'file token',
]
const acts: Acting[] = [
  'as oneself',
  'as user',
  'as other',
  'as foreign user',
  'for group',
  'for foreign group',
  'both',
]

/** An invalid token is refused before its act-as headers matter, so two combinations are enough. */
const actsOf = (who: Who): Acting[] =>
  ['nobody', 'user', 'admin', 'operator'].includes(who) ? acts : ['as oneself', 'as user', 'for group']

/** The expected failure code; undefined: the call is allowed. */
function expected(rule: Rule, who: Who, acting: Acting): number | undefined {
  const open = rule === 'login' || rule === 'holder'
  if (rule === 'operator') return who === 'operator' ? undefined : who === 'nobody' ? 40101 : 40301
  if (rule === 'admin or operator, no group' && who === 'operator') return undefined
  if (who === 'nobody') {
    if (!open) return 40101
    return acting === 'as oneself' ? undefined : 40302
  }
  // With an invalid token, such as the operator key outside the operator's calls, only logins are possible.
  if (who !== 'user' && who !== 'admin') return rule === 'login' ? undefined : 40102
  if (acting === 'both') return 40302
  if (who === 'user') {
    if (acting !== 'as oneself' && acting !== 'as user') return 40302
    return rule.startsWith('admin') ? 40301 : undefined
  }
  if (acting === 'as foreign user' || acting === 'for foreign group') return 40401
  if (acting === 'as user' || acting === 'as other') return rule.startsWith('admin') ? 40301 : undefined
  if (rule === 'user') return 40301
  return acting === 'for group' && rule.endsWith('no group') ? 40301 : undefined
}

const REFUSALS = new Set([40005, 40101, 40102, 40104, 40301, 40302, 40401, 40501])

let api: TestApi
let headersOf: Record<Who, Record<string, string>>
let actingHeaders: Record<Acting, Record<string, string>>
let attacker: { appId: string; admin: string; user: string }
let victim: {
  userId: number
  guid: string
  pushToken: string
  groupId: number
  taskId: number
  webhookId: number
}

const MARK = 'victimsown'

beforeAll(async () => {
  api = await openTestApi({
    env: { HERALD_HUAWEI_URL: 'http://127.0.0.1:9', HERALD_HUAWEI_AUTH_URL: 'http://127.0.0.1:9' },
    overrides: { limits: freeLimits() },
  })
  const { tokens } = api.deps.sessions
  const anna = await api.user(`${MARK}-anna`, { guid: `${MARK}-guid` })
  const bert = await api.user(`${MARK}-bert`)
  const gone = await api.user(`${MARK}-revoked`)
  const groupId = Number((await api.client.createGroup(`${MARK}-group`)).group_id)
  await api.client.addMembers(groupId, [anna.userId])
  await api.client.putCertificate({
    provider: 2,
    name: `${MARK}-certificate`,
    app_id: '100',
    app_secret: `${MARK}-secret`,
  })
  await api.client.putIdentity({
    issuer: `${MARK}-issuer`,
    audience: 'shop',
    public_key: generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }) as string,
  })
  const own = { token: anna.token, body: { push_token: anna.pushToken } }
  await api.call('/user/token/bind', {
    ...own,
    body: { ...own.body, provider: 2, device_token: `${MARK}-device-token` },
  })
  await api.call('/user/push/tag', { ...own, body: { ...own.body, tags: [`${MARK}-tag`] } })
  await api.call('/user/push/alias', { ...own, body: { ...own.body, alias: `${MARK}-alias` } })
  const { task_id } = await api.client.notify({ audience: 'all', message: { title: `${MARK}-title` } })
  const url = `https://${MARK}.example.com/`
  const events = ['task.finished' as const]
  const webhookId = Number((await api.client.putWebhook({ name: `${MARK}-hook`, url, events })).webhook_id)
  const moved = await api.deps.db.pool.query(
    `INSERT INTO outbox (app_id, kind, text) VALUES ($1, 'task.finished', $2)`,
    [api.appId, `${MARK}-event`],
  )
  expect([moved.rowCount, await moveOutbox(api.deps.db)]).toEqual([1, 1])
  victim = {
    userId: anna.userId,
    guid: `${MARK}-guid`,
    pushToken: anna.pushToken,
    groupId,
    webhookId,
    taskId: Number(task_id),
  }

  const foreign = await api.createApplication('attacker')
  const call = (path: string, body: object) =>
    api.call(path, { appId: foreign.appId, token: foreign.token, body })
  const eve = await call('/admin/user', { username: 'eve', password: 'eve-password' })
  const foreignGroup = await call('/admin/group', { name: 'eves' })
  const login = await api.call('/token/user', {
    appId: foreign.appId,
    token: null,
    body: { name: 'eve', password: 'eve-password' },
  })
  attacker = { appId: foreign.appId, admin: foreign.token, user: login.data.token }

  const tenYearsAgo = Date.now() - 3650 * 86_400_000
  const claims = { app: api.appId, subject: api.appId, version: 0 }
  const expired = (role: 'user' | 'admin', subject: string) =>
    tokens.issue({ ...claims, role, subject }, tenYearsAgo).token
  await api.call('/token/revoke', { token: gone.token, body: {} })
  const bearer = (token: string) => ({ 'access-token': token })
  headersOf = {
    nobody: {},
    user: bearer(anna.token),
    admin: bearer(api.adminToken),
    operator: { authorization: `Bearer ${OPERATOR_KEY}` },
    'foreign user': bearer(attacker.user),
    'foreign admin': bearer(attacker.admin),
    'expired user': bearer(expired('user', String(anna.userId))),
    'expired admin': bearer(expired('admin', api.appId)),
    'revoked user': bearer(gone.token),
    'revoked admin': bearer(tokens.issue({ ...claims, role: 'admin', version: -1 }).token),
    'file token': bearer(tokens.issue({ ...claims, role: 'admin' }).storeToken),
  }
  const [user, other, foreignUser] = [anna.userId, bert.userId, eve.data.user_id].map(String) as [
    string,
    string,
    string,
  ]
  actingHeaders = {
    'as oneself': {},
    'as user': { user_id: user },
    'as other': { user_id: other },
    'as foreign user': { user_id: foreignUser },
    'for group': { group_id: String(groupId) },
    'for foreign group': { group_id: String(foreignGroup.data.group_id) },
    both: { user_id: user, group_id: String(groupId) },
  }
})
afterAll(() => api.close())

describe('the authorisation matrix', () => {
  it('has a rule for every call of the document, and for no other', () => {
    expect(operations.map(({ name }) => name).sort()).toEqual(Object.keys(rules).sort())
  })

  it.each(operations.map((operation) => [operation.name, operation] as const))(
    '%s answers every role as its rule says',
    async (name, operation) => {
      const rule = rules[name]!
      const cells = everyone.flatMap((who) => actsOf(who).map((acting) => ({ who, acting })))
      const seen = await Promise.all(
        cells.map(async ({ who, acting }) => {
          const { code } = await api.call(operation.path + (operation.query.length > 0 ? '?nothing=1' : ''), {
            method: operation.method,
            token: null,
            headers: { ...headersOf[who], ...actingHeaders[acting] },
            // An unknown field, so that an authorised call changes nothing.
            raw: operation.takesBody ? '{"no such field":1}' : undefined,
          })
          return { who, acting, code: REFUSALS.has(code) ? code : undefined }
        }),
      )
      expect(seen).toEqual(cells.map((cell) => ({ ...cell, code: expected(rule, cell.who, cell.acting) })))
    },
  )
})

/** All rows of the victim in the database, one line per row and table. */
async function belongings(): Promise<Record<string, string[]>> {
  const { pool } = api.context.db
  const { rows: columns } = await pool.query<{ table: string; columns: string[] }>(
    `SELECT c.relname AS table, array_agg(a.attname::text) AS columns
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition GROUP BY 1`,
  )
  const found: Record<string, string[]> = {}
  for (const { table, columns: names } of columns) {
    const where = names.includes('app_id')
      ? `app_id = '${api.appId}'`
      : names.includes('task_id')
        ? `task_id = ${victim.taskId}`
        : names.includes('device_id')
          ? `device_id IN (SELECT id FROM device WHERE app_id = '${api.appId}')`
          : table === 'application'
            ? `id = '${api.appId}'`
            : undefined
    if (where === undefined) continue
    const { rows } = await pool.query<{ row: string }>(
      `SELECT t::text AS row FROM "${table}" t WHERE ${where} ORDER BY 1`,
    )
    found[table] = rows.map(({ row }) => row)
  }
  return found
}

/** A valid body of the operation in which every id is the victim's. */
function aimed(schema: JsonSchema): Record<string, unknown> {
  const targets: Record<string, unknown> = {
    user_id: victim.userId,
    user_ids: [victim.userId],
    group_id: victim.groupId,
    webhook_id: victim.webhookId,
    url: 'https://eve.example.com/',
    events: ['task.finished'],
    from: 1,
    task_id: victim.taskId,
    push_token: victim.pushToken,
    device_guid: victim.guid,
    token: victim.pushToken,
    tag: `${MARK}-tag`,
    alias: `${MARK}-alias`,
    tags: [`${MARK}-tag`],
    password: 'eves-choice',
    username: 'eves-choice',
    name: 'eves-choice',
    provider: 2,
    device_token: `${MARK}-device-token`,
    badge: 7,
    audience: { push_token: [victim.pushToken] },
    message: { title: 'from eve' },
  }
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>
  return Object.fromEntries(
    Object.keys(properties).flatMap((key) => (key in targets ? [[key, targets[key]]] : [])),
  )
}

/** Bodies that refer to the victim; none may reveal or change anything. */
function variants(body: Record<string, unknown>, path: string): Record<string, unknown>[] {
  const pushes = [
    { audience: { push_token: [victim.pushToken] } },
    { audience: { user_id: [victim.userId] } },
    { audience: { tag: [`${MARK}-tag`] } },
    { audience: { alias: [`${MARK}-alias`] } },
    { audience: 'all' },
  ].map((audience) => ({ ...audience, message: { title: 'from eve' } }))
  if (path === '/push/notify' || path === '/push/audience/count') return pushes
  if (path === '/push/notify/batch') return [{ list: pushes }]
  if (path === '/push/task/detail') return [{ list: [victim.taskId] }]
  if (path === '/push/receipt')
    return [
      { ...body, list: [{ task_id: victim.taskId, event: 'received' }] },
      { ...body, list: [] },
    ]
  // One device or person at a time.
  if (path === '/push/task/device' || path === '/admin/device/messages') {
    const { task_id, ...who } = body
    return Object.entries(who).map(([key, value]) => ({
      ...(task_id !== undefined && { task_id }),
      [key]: value,
    }))
  }
  // A search by one key at a time, and by all together.
  if (path.endsWith('/list'))
    return [body, {}, ...Object.entries(body).map(([key, value]) => ({ [key]: value }))]
  return [body]
}

describe('another tenant', () => {
  it('learns and changes nothing with calls that refer to another tenant’s data', async () => {
    const before = await belongings()
    expect(Object.keys(before).length).toBeGreaterThan(8)
    expect(JSON.stringify(before)).toContain(`${MARK}-device-token`)
    const leaks: string[] = []
    for (const operation of operations) {
      if (rules[operation.name] === 'operator' || operation.path === '/token/revoke') continue
      const body = aimed(operation.schema ?? {})
      const query = new URLSearchParams(
        operation.query.map((name): [string, string] => [
          name as string,
          name === 'push_token' ? victim.pushToken : name === 'task_id' ? String(victim.taskId) : '2',
        ]),
      )
      for (const token of [attacker.admin, attacker.user, null])
        for (const sent of variants(body, operation.path)) {
          const answer: Answer = await api.call(`${operation.path}${query.size > 0 ? `?${query}` : ''}`, {
            method: operation.method,
            appId: attacker.appId,
            token,
            raw: operation.takesBody ? JSON.stringify(sent) : undefined,
            headers: { 'content-type': 'application/json' },
          })
          // A call that fails for another reason proves nothing.
          if (answer.status >= 500) leaks.push(`${operation.name} ${JSON.stringify(sent)} -> ${answer.text}`)
          // Callers choose guids: the attacker may register a device with the same guid, and see it.
          const answered = answer.text.replaceAll(victim.guid, '')
          const echo = JSON.stringify(sent)
          const leaked = [MARK, victim.pushToken].filter(
            (secret) => answered.includes(secret) && !echo.includes(secret),
          )
          if (leaked.length > 0) leaks.push(`${operation.name} ${echo} -> ${answer.text.slice(0, 300)}`)
        }
    }
    expect(leaks).toEqual([])
    expect(await belongings()).toEqual(before)
  })
})
