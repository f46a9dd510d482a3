import { connect, createServer, type Socket } from 'node:net'
import { readSettings } from '@herald/settings'
import { createLogger, createRegistry } from '@herald/telemetry'
import { describeWith, freePort, listen, startApp, testRedis, until } from '@herald/testkit'
import { testDatabase } from '@herald/testkit/database'
import { afterEach, describe, expect, it } from '@jest/globals'
import { openContext } from '../src/index.ts'

const environment = { HERALD_MASTER_KEY: '0'.repeat(64), HERALD_LOG_LEVEL: 'error' }

type Health = { status: number; waiting: string[] }
const ask = async (port: number, path: string): Promise<Health> => {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`)
  return { status: answer.status, waiting: ((await answer.json()) as { waiting?: string[] }).waiting ?? [] }
}
/** Waits until these dependencies are missing: on a busy machine a check of another one may fail for a moment. */
const waitsFor = (port: number, ...missing: string[]) =>
  until(
    async () => {
      const { status, waiting } = await ask(port, '/readyz')
      return status === (missing.length === 0 ? 200 : 503) && waiting.join() === missing.join()
    },
    { what: `/readyz to wait for ${missing.join() || 'nothing'}` },
  )

/** A TCP proxy to Postgres that can be cut. */
async function startProxy(url: string) {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const upstream = connect(Number(target.port), target.hostname)
    for (const one of [socket, upstream]) {
      sockets.add(one)
      one.on('error', () => {}).on('close', () => sockets.delete(one))
    }
    socket.pipe(upstream).pipe(socket)
    socket.on('close', () => upstream.destroy())
    upstream.on('close', () => socket.destroy())
  })
  const port = await freePort()
  const open = () => listen(server, port)
  await open()
  return {
    url: Object.assign(new URL(url), { host: `127.0.0.1:${port}` }).href,
    open,
    cut: () =>
      new Promise<void>((resolve) => {
        if (!server.listening) return resolve()
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

describe('dependencies', () => {
  it('do not count as down while every connection is busy', async () => {
    const database = await testDatabase()
    const { settings } = readSettings({ ...environment, DATABASE_URL: database.url })
    const context = await openContext({
      settings,
      log: createLogger({ name: 'spec', level: 'silent' }),
      registry: createRegistry('spec'),
      connections: 2,
    })
    const { pool } = context.db
    const lent = [await pool.connect(), await pool.connect()]
    // The first results may come from the cache: repeat until a check has waited for a connection.
    const answers: string[][] = []
    await until(async () => {
      answers.push(await context.dependencies.missing(['postgres', 'queue']))
      return pool.waitingCount > 0
    })
    expect(answers.flat()).toEqual([])
    for (const client of lent) client.release()
    await context.close()
    await database.drop()
  })
})

describeWith('redis-server')('readiness of programs', () => {
  const closings: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (let close = closings.pop(); close; close = closings.pop()) await close()
  })

  it('is lost while a dependency is down and comes back with it, while the process stays alive', async () => {
    const database = await testDatabase()
    closings.push(database.drop)
    const redis = await testRedis()
    closings.push(redis.stop)
    const proxy = await startProxy(database.url)
    closings.push(proxy.cut)
    const ports = { worker: await freePort(), api: await freePort(), http: await freePort() }
    const env = { ...environment, DATABASE_URL: proxy.url, QUEUE_URL: redis.url }
    const programs = [
      startApp('apps/worker-meizu/src/main.ts', { ...env, HERALD_METRICS_PORT: String(ports.worker) }),
      startApp('apps/api/src/main.ts', {
        ...env,
        HERALD_METRICS_PORT: String(ports.api),
        HERALD_PORT: String(ports.http),
      }),
    ]
    closings.push(() => Promise.all(programs.map((program) => program.stop('SIGKILL'))))
    await waitsFor(ports.worker)
    await waitsFor(ports.http)

    await redis.stop()
    await waitsFor(ports.worker, 'queue')
    // The API stores tasks in Postgres; their jobs are added later.
    await waitsFor(ports.http)
    await waitsFor(ports.api)

    await proxy.cut()
    await waitsFor(ports.http, 'postgres')
    await waitsFor(ports.worker, 'postgres', 'queue')
    expect((await ask(ports.worker, '/healthz')).status).toBe(200)
    expect((await ask(ports.http, '/healthz')).status).toBe(200)
    const metrics = await (await fetch(`http://127.0.0.1:${ports.worker}/metrics`)).text()
    expect(metrics).toContain('herald_dependency_up{dependency="postgres",program="worker-meizu"} 0')

    await proxy.open()
    await waitsFor(ports.http)
    await waitsFor(ports.worker, 'queue')
  })
})
