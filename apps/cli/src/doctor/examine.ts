import {
  type CertificateHealth,
  certificateHealth,
  countBalanced,
  examineServer,
  findImbalances,
  sealHealth,
} from '@herald/db/readings'
import { createSealer, migrationState, type Sealer } from '@herald/db/store'
import { examineQueue, parseQueueUrl } from '@herald/queue'
import { type Inspection, readSettings } from '@herald/settings'
import { balanced } from '../balance-words.ts'
import { type Demo, findOwnPostgres, readKeptSecrets } from '../data-directory.ts'
import { HERALD } from '../examples.ts'
import { reasonOf } from '../failure.ts'
import { withDatabase } from '../shell.ts'
import type { Finding } from './finding.ts'
import { judgeCertificates, judgeMasterKey } from './judge-certificates.ts'
import { judgeClock, judgeMigrations, judgeServer, type Needs } from './judge-postgres.ts'
import { judgeQueue } from './judge-queue.ts'
import { judgeSettings } from './judge-settings.ts'
import { judgeOpenFiles, openFilesLimit } from './machine.ts'
import { needsOf } from './needs.ts'
import { hostsOf, judgeVendors, reachVendors } from './vendors.ts'

export type Patient = {
  inspection: Inspection
  dataDir: string
  demo: Demo | undefined
  baseUrl: string
  vendors: boolean
}

/** Looks at everything in turn and tells each finding as it is made. Changes nothing. */
export async function examine(patient: Patient, tell: (finding: Finding) => void): Promise<void> {
  const all = (findings: Finding[]) => findings.forEach(tell)
  const { inspection, dataDir, demo, baseUrl } = patient
  const { settings } = inspection
  all(judgeSettings(inspection))
  const runs = await answers(baseUrl)
  tell(runs.finding)

  const own = settings.databaseUrl === undefined ? findOwnPostgres(dataDir) : undefined
  const databaseUrl = settings.databaseUrl ?? own
  const standalone = own !== undefined || (runs.alive && demo?.base_url === baseUrl)
  const queueUrl = settings.queueUrl ?? databaseUrl
  let certificates: CertificateHealth[] = []
  let books: Finding[] = []
  if (databaseUrl === undefined) tell(noDatabase(dataDir))
  else {
    const needs = needsOf(standalone, isPostgres(queueUrl))
    const masterKey = settings.masterKey ?? (standalone ? keptMasterKey(dataDir) : undefined)
    const sealer = masterKey && createSealer(masterKey, settings.otherMasterKeys)
    const found = await examineRows({ databaseUrl, sealer, needs }, all)
    certificates = found.certificates
    books = found.books
  }
  if (queueUrl !== undefined) all(await lookAtQueue(queueUrl))
  if (patient.vendors) {
    const simulators = standalone ? (demo?.simulators ?? {}) : {}
    const hosts = hostsOf(settings.vendorUrls, simulators, certificates)
    all(judgeVendors(await reachVendors(hosts, settings), settings.proxy !== undefined))
  }
  all(judgeOpenFiles(openFilesLimit()))
  all(books)
}

async function answers(baseUrl: string): Promise<{ alive: boolean; finding: Finding }> {
  const began = performance.now()
  try {
    const response = await fetch(`${baseUrl}/readyz`, { signal: AbortSignal.timeout(5_000) })
    const ready = response.status === 200
    const { waiting = [] } = (await response.json().catch(() => ({}))) as { waiting?: string[] }
    const ms = Math.round(performance.now() - began)
    return {
      alive: true,
      finding: ready
        ? { area: 'herald', state: 'ok', what: `${baseUrl} is ready, and answers in ${ms} ms` }
        : {
            area: 'herald',
            state: 'fail',
            what: `${baseUrl} is not ready${waiting.length > 0 ? `: it waits for ${waiting.join(', ')}` : ` (HTTP status ${response.status})`}`,
            advice: 'look into its log',
          },
    }
  } catch (error) {
    return {
      alive: false,
      finding: {
        area: 'herald',
        state: 'warn',
        what: `${baseUrl} cannot be reached: ${reasonOf(error)}`,
        advice: 'start it (npm start, or the programs apart), or name another with --url',
      },
    }
  }
}

const noDatabase = (dataDir: string): Finding => ({
  area: 'postgres',
  state: 'fail',
  what: `DATABASE_URL is not set, and no standalone runs in ${dataDir}`,
  advice: 'set it, or run npm start, which brings its own',
})

type Rows = {
  databaseUrl: string
  sealer: Sealer | undefined
  needs: Needs
}

async function examineRows({ databaseUrl, sealer, needs }: Rows, all: (findings: Finding[]) => void) {
  const nothing = { certificates: [] as CertificateHealth[], books: [] as Finding[] }
  try {
    return await withDatabase(databaseUrl, async (db) => {
      const facts = await examineServer(db)
      all([...judgeServer(facts, needs), judgeClock(facts)])
      const migrations = await lookAtMigrations(databaseUrl)
      all([migrations])
      // Without its tables there is nothing further to ask.
      if (migrations.state !== 'ok') return nothing
      const certificates = await certificateHealth(db)
      all([
        judgeMasterKey(sealer && (await sealHealth(db, sealer))),
        ...judgeCertificates(certificates, Date.now()),
      ])
      const broken = await findImbalances(db)
      const books: Finding =
        broken.length === 0
          ? { area: 'balance', state: 'ok', what: balanced(await countBalanced(db)) }
          : {
              area: 'balance',
              state: 'fail',
              what: `${broken.length} counter rows are out of balance, the first of task ${broken[0]!.taskId}`,
              advice: `${HERALD} balance names them; report it, for this must not happen`,
            }
      return { certificates, books: [books] }
    })
  } catch (error) {
    all([
      {
        area: 'postgres',
        state: 'fail',
        what: `${placeOf(databaseUrl)} cannot be used: ${reasonOf(error)}`,
        advice: 'check DATABASE_URL, that the server runs, and that it lets this machine in',
      },
    ])
    return nothing
  }
}

async function lookAtMigrations(databaseUrl: string): Promise<Finding> {
  try {
    return judgeMigrations(await migrationState(databaseUrl))
  } catch (error) {
    return {
      area: 'migrations',
      state: 'fail',
      what: reasonOf(error),
      advice: 'run the version of Herald that the database belongs to',
    }
  }
}

async function lookAtQueue(queueUrl: string): Promise<Finding[]> {
  try {
    return judgeQueue(await examineQueue(queueUrl))
  } catch (error) {
    return [
      {
        area: 'queue',
        state: 'fail',
        what: (error as Error).message,
        advice: 'check QUEUE_URL, that the server runs, and that it lets this machine in',
      },
    ]
  }
}

function keptMasterKey(dataDir: string): Buffer | undefined {
  const { HERALD_MASTER_KEY } = readKeptSecrets(dataDir)
  try {
    return readSettings({ HERALD_MASTER_KEY }).settings.masterKey
  } catch {
    return undefined
  }
}

function isPostgres(queueUrl: string | undefined): boolean {
  try {
    return queueUrl !== undefined && parseQueueUrl(queueUrl).kind === 'postgres'
  } catch {
    return false
  }
}

/** Host and database, never the password. */
function placeOf(databaseUrl: string): string {
  const { host, pathname } = new URL(databaseUrl)
  return `the database ${pathname.slice(1) || '(default)'} at ${host}`
}
