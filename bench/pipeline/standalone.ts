import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSealer, openDatabase } from '@herald/db/store'
import { createApplication } from '@herald/db/tenants'
import { findRunning } from '@herald/embedded'
import { freePort, startApp } from '@herald/testkit'
import { startSink } from '../http2/start-sink.ts'
import type { Metrics } from '../metric.ts'
import { cpuSecondsWithChildren, statOf } from '../process-figures.ts'
import { CONNECTIONS, notifyEach } from './accept.ts'
import { addApnsCertificate, addIosDevices, sinkAuthority } from './deployment.ts'

const DEVICES = 10_000

/** Single pushes through the standalone: everything in one process, its own Postgres, the queue in Postgres. */
export async function measureStandalone(requests: number): Promise<Metrics> {
  const dir = mkdtempSync(join(tmpdir(), 'herald-standalone-'))
  const sink = await startSink()
  const port = await freePort()
  const masterKey = randomBytes(32)
  const standalone = startApp('apps/standalone/src/main.ts', {
    HERALD_PORT: String(port),
    HERALD_DATA_DIR: dir,
    HERALD_MASTER_KEY: masterKey.toString('hex'),
    HERALD_SIMULATORS: 'off',
    HERALD_APNS_URL: sink.url,
    HERALD_VENDOR_CA: sinkAuthority,
  })
  try {
    await standalone.prints(/is ready at/, 120)
    const postgresDir = join(dir, 'postgres')
    const url = findRunning(postgresDir)
    if (url === undefined) throw new Error('the standalone runs no Postgres')
    const postmaster = Number(
      readFileSync(join(postgresDir, 'data', 'postmaster.pid'), 'utf8').split('\n')[0],
    )
    const db = openDatabase(url, { max: 4, name: 'bench' })
    try {
      const made = await createApplication(db, { name: 'bench', packageName: 'com.example.bench' })
      if (made === 'taken') throw new Error('the database is not new')
      const { appId, appSecret } = made
      await addApnsCertificate({ db, appId, sealer: createSealer(masterKey) })
      await addIosDevices(db, appId, DEVICES)
      const base = `http://127.0.0.1:${port}`
      const headers = {
        app_id: appId,
        'access-token': await logIn(base, appId, appSecret),
        'content-type': 'application/json',
      }
      const caller = { headers: () => headers, pushToken: (n: number) => `p${1 + (n % DEVICES)}` }
      const cpuTime = () =>
        new Map([
          ['standalone', statOf(standalone.pid)?.seconds ?? 0],
          ['postgres', cpuSecondsWithChildren(postmaster)],
        ])
      const herald = { base, db, cpuTime }
      // A warm-up, because connections, prepared statements and the JIT are warm in a real deployment.
      await notifyEach(herald, caller, Math.ceil(requests / 5), sink)
      const found = await notifyEach(herald, caller, requests, sink)
      return {
        standalone_end_to_end_per_s: {
          value: found.delivered,
          unit: 'requests/s',
          note: `${requests.toLocaleString('en')} requests with a request id, ${CONNECTIONS} connections, one device each, one process with its own Postgres, queue in Postgres, default log level, until the vendor's response is committed; ${found.cost}`,
        },
        standalone_cpu_us_each: { value: found.cpu, unit: 'µs', note: 'the standalone and its Postgres' },
      }
    } finally {
      await db.close()
    }
  } finally {
    await standalone.stop()
    await sink.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

async function logIn(base: string, appId: string, appSecret: string): Promise<string> {
  const reply = await fetch(`${base}/token/admin`, {
    method: 'POST',
    headers: { app_id: appId, 'content-type': 'application/json' },
    body: JSON.stringify({ app_secret: appSecret }),
  })
  const { code, message, data } = (await reply.json()) as {
    code: number
    message: string
    data: { token: string }
  }
  if (code !== 200) throw new Error(`${code} ${message}`)
  return data.token
}
