import { connect } from 'node:net'
import { joinNode, leaveNode } from '@herald/db/native'
import { nativeQueue, pushQueue } from '@herald/queue'
import { describeWith, type TestRedis, testRedis, until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { operator, signIn, type TestBrowser } from './console-browser.ts'
import { OPERATOR_KEY, openTestApi, type TestApi } from './harness.ts'

const secrets = ['vendor-secret-of-the-spec', 'device-token-of-the-spec', 'title of the spec', OPERATOR_KEY]

const backends = [
  { kind: 'redis', describe: describeWith('redis-server') },
  { kind: 'postgres', describe },
]

for (const backend of backends)
  backend.describe(`the board of the queues on ${backend.kind}`, () => {
    let redis: TestRedis | undefined
    let api: TestApi
    let browser: TestBrowser
    beforeAll(async () => {
      redis = backend.kind === 'redis' ? await testRedis() : undefined
      api = await openTestApi({ env: redis && { QUEUE_URL: redis.url } })
      expect(api.context.queues.kind).toBe(backend.kind)
      browser = await signIn(api, operator)
      await api.client.putCertificate({ provider: 2, app_id: '100', app_secret: secrets[0]! })
      const { pushToken } = await api.user('anna', { guid: 'phone' })
      secrets.push(pushToken)
      await api.call('/user/token/bind', {
        token: null,
        body: { push_token: pushToken, provider: 2, device_token: secrets[1] },
      })
      for (let i = 0; i < 12; i++)
        await api.client.notify({
          audience: 'all',
          message: { title: secrets[2]! },
          setting: { distribution_strategy: 'ospush_only' },
        })
    })
    afterAll(async () => {
      await api.close()
      await redis?.stop()
    })

    /** Opens a page, or sends one of its own requests; neither has the console's header. */
    const get = (path: string, headers: Record<string, string> = {}) =>
      fetch(`${api.url}${path}`, {
        headers: { cookie: browser.cookie, 'sec-fetch-site': 'same-origin', ...headers },
      })
    const read = async (path: string) => {
      const response = await get(path)
      return { status: response.status, text: await response.text() }
    }
    // biome-ignore lint/suspicious/noExplicitAny: Bull Board's own answers
    const json = async (path: string): Promise<any> => JSON.parse((await read(path)).text)
    const namesShown = async () =>
      (await json('/queues/api/queues')).queues.map(({ name }: { name: string }) => name)

    it('is accessible to the operator only, by session or by key', async () => {
      expect((await read('/queues')).status).toBe(200)
      expect((await get('/queues', { 'sec-fetch-site': 'none' })).status).toBe(200)
      const key = await fetch(`${api.url}/queues/api/queues`, {
        headers: { authorization: `Bearer ${OPERATOR_KEY}` },
      })
      expect(key.status).toBe(200)
      const admin = await signIn(api, { app_id: api.appId, app_secret: api.appSecret })
      for (const [headers, code] of [
        [{}, 40101],
        [{ authorization: 'Bearer wrong' }, 40102],
        [{ 'access-token': api.adminToken, app_id: api.appId }, 40301],
        [{ cookie: admin.cookie }, 40301],
        [{ cookie: browser.cookie, 'sec-fetch-site': 'cross-site' }, 40303],
        [{ cookie: `herald_session=${'x'.repeat(43)}` }, 40102],
      ] as [Record<string, string>, number][])
        for (const path of ['/queues', '/queues/api/queues', '/queues/static/favicon.ico']) {
          const answer = await api.call(path, { token: null, appId: null, headers })
          expect([path, answer.code]).toEqual([path, code])
        }
    })

    it('tells a person on a page what to do', async () => {
      const answer = await fetch(`${api.url}/queues`, { headers: { accept: 'text/html,*/*' } })
      expect(answer.status).toBe(401)
      expect(await answer.text()).toContain('Sign in to the console with the operator key')
    })

    it('shows every channel with its jobs, page by page', async () => {
      expect(await namesShown()).toEqual(
        expect.arrayContaining(['push-apns', 'push-fcm', 'push-huawei', 'push-meizu']),
      )
      const page = async (number: number) =>
        (
          await json(
            `/queues/api/queues?activeQueue=push-huawei&status=waiting&page=${number}&jobsPerPage=10`,
          )
        ).queues.find(({ name }: { name: string }) => name === 'push-huawei')
      const [first, second] = [await page(1), await page(2)]
      expect(first).toMatchObject({ readOnlyMode: true, allowRetries: false, counts: { waiting: 12 } })
      expect([first.jobs.length, second.jobs.length, first.pagination.pageCount]).toEqual([10, 2, 2])
      expect((await read('/queues/api/queues?activeQueue=push-huawei&jobsPerPage=100000')).status).toBe(400)
    })

    it('shows ids, and no message, token or secret', async () => {
      const { queues } = await json(
        '/queues/api/queues?activeQueue=push-huawei&status=waiting&page=1&jobsPerPage=10',
      )
      const queue = queues.find(({ name }: { name: string }) => name === 'push-huawei')
      const [{ id, data }] = queue.jobs
      expect(Object.keys(data).sort()).toEqual(['bundle', 'certificateIds', 'v'])
      const job = `/queues/api/queues/push-huawei/${id}`
      const texts = [JSON.stringify(queues)]
      for (const path of [
        '/queues',
        '/queues/queue/push-huawei',
        job,
        `${job}/logs`,
        `${job}/flow`,
        '/queues/api/redis/stats',
        '/queues/api/job-schedulers',
        '/queues/api/queues/push-huawei/metrics',
        '/queues/api/queues/push-huawei/default-job-options',
        '/queues/api/queues/push-huawei/rate-limit',
      ]) {
        const { status, text } = await read(path)
        expect([path, status]).toEqual([path, 200])
        texts.push(text)
      }
      for (const secret of secrets) expect(texts.join()).not.toContain(secret)
    })

    it('changes nothing, for any caller and method', async () => {
      const { queues } = await json(
        '/queues/api/queues?activeQueue=push-huawei&status=waiting&page=1&jobsPerPage=10',
      )
      const { id } = queues.find(({ name }: { name: string }) => name === 'push-huawei').jobs[0]
      const queue = '/queues/api/queues/push-huawei'
      const before = await api.context.queues.counts(pushQueue('huawei'))
      for (const [method, path, body] of [
        ['PUT', `${queue}/obliterate`, { force: true }],
        ['PUT', `${queue}/empty`],
        ['PUT', `${queue}/clean/waiting`],
        ['PUT', `${queue}/clean/completed`],
        ['PUT', `${queue}/pause`],
        ['PUT', '/queues/api/queues/pause'],
        ['PUT', '/queues/api/queues/resume'],
        ['PUT', `${queue}/retry/failed`],
        ['PUT', `${queue}/promote`],
        ['PUT', `${queue}/concurrency`, { concurrency: 1 }],
        ['PUT', `${queue}/rate-limit`, { max: 1, duration: 1000 }],
        ['PUT', `${queue}/${id}/clean`],
        ['PATCH', `${queue}/${id}/update-data`, { jobData: {} }],
        ['POST', `${queue}/add`, { name: 'x', data: {} }],
        ['DELETE', queue],
      ] as [string, string, object?][])
        for (const headers of [
          { cookie: browser.cookie, 'x-herald-console': '1' },
          { authorization: `Bearer ${OPERATOR_KEY}` },
        ] as Record<string, string>[]) {
          const answer = await api.call(path, {
            method,
            token: null,
            appId: null,
            headers: { ...headers, 'content-type': 'application/json' },
            raw: body && JSON.stringify(body),
          })
          expect([method, path, answer.status, answer.code]).toEqual([method, path, 403, 40301])
        }
      expect(await api.context.queues.counts(pushQueue('huawei'))).toEqual(before)
      expect(before).toMatchObject({ waiting: 12, paused: false })
    })

    it('is a page without external resources, under a strict policy', async () => {
      const response = await get('/queues')
      const page = await response.text()
      expect(page).not.toMatch(/(?:src|href)="https?:/)
      const policy = response.headers.get('content-security-policy')!
      expect(policy).toContain("default-src 'none'; script-src 'self';")
      expect(policy).not.toMatch(/script-src[^;]*unsafe|https?:/)
      const [, nonce = ''] = /'nonce-([^']+)'/.exec(policy)!
      expect(page).toContain(`<style nonce="${nonce}">`)
      expect(page).toContain('<base href="/queues/" />')
      const files = [...page.matchAll(/(?:src|href)="(static\/[^"]+)"/g)].map(([, file]) => file)
      expect(files.length).toBeGreaterThan(3)
      for (const file of files) expect([file, (await get(`/queues/${file}`)).status]).toEqual([file, 200])
    })

    it('shows the queues of gateways as long as they are alive', async () => {
      const { db, queues } = api.context
      await joinNode(db, 'spec-node', 60)
      await queues.add(nativeQueue('spec-node'), {
        certificateIds: [],
        batches: [{ taskId: 1, id: 1 }],
      })
      await until(async () => (await namesShown()).includes('push-native-spec-node'))
      await leaveNode(db, 'spec-node')
      await until(async () => !(await namesShown()).includes('push-native-spec-node'))
      expect((await queues.counts(nativeQueue('spec-node'))).waiting).toBe(1)
    })

    if (backend.kind === 'redis')
      it('sends Redis no command that scans all keys', async () => {
        const stats = await commandsOf(redis!.port)
        expect(stats).toContain('cmdstat_evalsha')
        expect(stats).not.toMatch(/cmdstat_(keys|scan|client\|list|smembers|flushall|flushdb)/)
      })
  })

describe('the board of unreachable queues', () => {
  it('says so instead of waiting for them', async () => {
    const api = await openTestApi({ env: { QUEUE_URL: 'redis://127.0.0.1:1/0' } })
    try {
      const headers = { authorization: `Bearer ${OPERATOR_KEY}` }
      const get = (path: string) =>
        fetch(`${api.url}${path}`, { headers, signal: AbortSignal.timeout(20_000) })
      expect((await get('/queues')).status).toBe(200)
      const answer = await get('/queues/api/queues')
      expect(answer.status).toBe(500)
      expect(await answer.text()).not.toMatch(/node_modules|\.ts:\d/)
    } finally {
      await api.close()
    }
  })
})

/** The commands that the server has counted. */
function commandsOf(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
    })
    socket.on('close', () => resolve(text)).on('error', reject)
    socket.write('INFO commandstats\r\nQUIT\r\n')
  })
}
