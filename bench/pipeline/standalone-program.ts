import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSealer, openDatabase } from '@herald/db/store'
import { createApplication } from '@herald/db/tenants'
import { findRunning } from '@herald/embedded'
import { freePort, startApp } from '@herald/testkit'
import { type Sink, startSink } from '../http2/start-sink.ts'
import { cpuSecondsWithChildren, statOf } from '../process-figures.ts'
import { addApnsCertificate, addIosDevices, sinkAuthority } from './deployment.ts'

export type Standalone = Awaited<ReturnType<typeof startStandalone>>

/** The standalone as with `npm start`, on an empty data directory: one process, its own Postgres, the queue in Postgres. Its APNs is a sink. */
export async function startStandalone() {
  const dir = mkdtempSync(join(tmpdir(), 'herald-standalone-'))
  const sink = await startSink()
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const masterKey = randomBytes(32)
  const program = startApp('apps/standalone/src/main.ts', {
    HERALD_PORT: String(port),
    HERALD_DATA_DIR: dir,
    HERALD_MASTER_KEY: masterKey.toString('hex'),
    HERALD_SIMULATORS: 'off',
    HERALD_APNS_URL: sink.url,
    HERALD_VENDOR_CA: sinkAuthority,
  })
  const end = async () => {
    await program.stop()
    await sink.stop()
    rmSync(dir, { recursive: true, force: true })
  }
  try {
    await program.prints(/is ready at/, 120)
    return openStandalone({ dir, base, sink, masterKey, pid: program.pid, end })
  } catch (error) {
    await end()
    throw error
  }
}

function openStandalone(options: {
  dir: string
  base: string
  sink: Sink
  masterKey: Buffer
  pid: number
  end(): Promise<void>
}) {
  const { dir, base, sink, masterKey, pid, end } = options
  const postgresDir = join(dir, 'postgres')
  const url = findRunning(postgresDir)
  if (url === undefined) throw new Error('the standalone runs no Postgres')
  const postmaster = Number(readFileSync(join(postgresDir, 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
  const db = openDatabase(url, { max: 4, name: 'bench' })
  return {
    base,
    sink,
    db,
    cpuTime: () =>
      new Map([
        ['standalone', statOf(pid)?.seconds ?? 0],
        ['postgres', cpuSecondsWithChildren(postmaster)],
      ]),
    /** An application with iOS devices whose push tokens are <name>1, <name>2, … Returns the headers of its calls. */
    async addApplication(name: string, devices: number): Promise<Record<string, string>> {
      const made = await createApplication(db, { name, packageName: `com.example.${name}` })
      if (made === 'taken') throw new Error('the database is not new')
      const { appId, appSecret } = made
      await addApnsCertificate({ db, appId, sealer: createSealer(masterKey) })
      await addIosDevices(db, appId, devices, name)
      return {
        app_id: appId,
        'access-token': await logIn(base, appId, appSecret),
        'content-type': 'application/json',
      }
    },
    async stop() {
      await db.close()
      await end()
    },
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
