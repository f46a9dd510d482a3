import {
  type CertificateHealth,
  certificateHealth,
  countBalanced,
  examineServer,
  findImbalances,
  sealHealth,
} from '@herald/db/readings'
import { createSealer, type Database, migrationState, type Sealer } from '@herald/db/store'
import { parseQueueUrl } from '@herald/queue'
import { examineQueue } from '@herald/queue/checkup'
import { type Demo, type Inspection, readKeptSecrets, readSettings } from '@herald/settings'
import { HERALD } from '../examples.ts'
import { reasonOf } from '../failure.ts'
import { findOwnPostgres, withDatabase } from '../shell.ts'
import { balanceText } from '../task-format.ts'
import type { Finding } from './finding.ts'
import { judgeCertificates, judgeMasterKey, judgeReceipts } from './judge-certificates.ts'
import { judgeClock, judgeMigrations, judgeServer, type Needs } from './judge-postgres.ts'
import { judgeQueue } from './judge-queue.ts'
import { judgeSettings } from './judge-settings.ts'
import { judgeOpenFiles, openFilesLimit } from './machine.ts'
import { needsOf } from './needs.ts'
import { hostsOf, judgeVendors, reachVendors } from './vendors.ts'

export type DoctorInput = {
  inspection: Inspection
  dataDir: string
  demo: Demo | undefined
  baseUrl: string
  vendors: boolean
}

/** Runs all checks and reports each finding at once. Changes nothing. */
export async function examine(input: DoctorInput, report: (finding: Finding) => void): Promise<void> {
  const all = (findings: Finding[]) => findings.forEach(report)
  const { inspection, dataDir, demo, baseUrl } = input
  const { settings } = inspection
  all(judgeSettings(inspection))
  const herald = await checkReady(baseUrl)
  report(herald.finding)

  const own = settings.databaseUrl === undefined ? findOwnPostgres(dataDir) : undefined
  const databaseUrl = settings.databaseUrl ?? own
  const standalone = own !== undefined || (herald.alive && demo?.base_url === baseUrl)
  const simulators = standalone ? (demo?.simulators ?? {}) : {}
  const queueUrl = settings.queueUrl ?? databaseUrl
  let certificates: CertificateHealth[] = []
  let balance: Finding[] = []
  if (databaseUrl === undefined) report(noDatabase(dataDir))
  else {
    const needs = needsOf(standalone, isPostgres(queueUrl), settings.databaseConnections)
    const masterKey = settings.masterKey ?? (standalone ? keptMasterKey(dataDir) : undefined)
    const sealer = masterKey && createSealer(masterKey, settings.otherMasterKeys)
    const found = await examineDatabase({ databaseUrl, sealer, needs }, all)
    certificates = found.certificates
    balance = found.balance
    // Simulated vendors reach the standalone at its own address.
    if (Object.keys(simulators).length === 0) all(judgeReceipts(certificates, settings.publicUrl))
  }
  if (queueUrl !== undefined) all(await checkQueue(queueUrl))
  if (input.vendors) {
    const hosts = hostsOf(settings.vendorUrls, simulators, certificates)
    all(judgeVendors(await reachVendors(hosts, settings), settings.proxy !== undefined))
  }
  all(judgeOpenFiles(openFilesLimit()))
  all(balance)
}

async function checkReady(baseUrl: string): Promise<{ alive: boolean; finding: Finding }> {
  const began = performance.now()
  try {
    const response = await fetch(`${baseUrl}/readyz`, { signal: AbortSignal.timeout(5_000) })
    const ready = response.status === 200
    const { waiting = [] } = (await response.json().catch(() => ({}))) as { waiting?: string[] }
    const ms = Math.round(performance.now() - began)
    return {
      alive: true,
      finding: ready
        ? { area: 'herald', state: 'ok', what: `${baseUrl} is ready and responds in ${ms} ms` }
        : {
            area: 'herald',
            state: 'fail',
            what: `${baseUrl} is not ready${waiting.length > 0 ? `: it is waiting for ${waiting.join(', ')}` : ` (HTTP status ${response.status})`}`,
            advice: 'read its log',
          },
    }
  } catch (error) {
    return {
      alive: false,
      finding: {
        area: 'herald',
        state: 'warn',
        what: `${baseUrl} cannot be reached: ${reasonOf(error)}`,
        advice: 'start it (npm start, or the separate programs), or set another URL with --url',
      },
    }
  }
}

const noDatabase = (dataDir: string): Finding => ({
  area: 'postgres',
  state: 'fail',
  what: `DATABASE_URL is not set and no standalone with a Postgres of its own is running in ${dataDir}`,
  advice: 'set it as for the programs, or run npm start, which starts its own Postgres',
})

async function examineDatabase(
  { databaseUrl, sealer, needs }: { databaseUrl: string; sealer: Sealer | undefined; needs: Needs },
  all: (findings: Finding[]) => void,
) {
  const nothing = { certificates: [] as CertificateHealth[], balance: [] as Finding[] }
  try {
    return await withDatabase(databaseUrl, async (db) => {
      const facts = await examineServer(db)
      all([...judgeServer(facts, needs), judgeClock(facts)])
      const migrations = await checkMigrations(databaseUrl)
      all([migrations])
      // Without current tables the other queries would fail.
      if (migrations.state !== 'ok') return nothing
      const certificates = await certificateHealth(db)
      all([
        judgeMasterKey(sealer && (await sealHealth(db, sealer))),
        ...judgeCertificates(certificates, Date.now()),
      ])
      return { certificates, balance: [await checkBalance(db)] }
    })
  } catch (error) {
    all([
      {
        area: 'postgres',
        state: 'fail',
        what: `${describeUrl(databaseUrl)} cannot be used: ${reasonOf(error)}`,
        advice: 'check DATABASE_URL, that the server is running, and that it accepts this machine',
      },
    ])
    return nothing
  }
}

/** On a large database, or a busy one, a query may take longer than its limit; that says nothing about the other findings. */
async function checkBalance(db: Database): Promise<Finding> {
  try {
    const broken = await findImbalances(db)
    if (broken.length === 0)
      return { area: 'balance', state: 'ok', what: balanceText(await countBalanced(db)) }
    return {
      area: 'balance',
      state: 'fail',
      what: `${broken.length} counter rows do not balance; the first belongs to task ${broken[0]!.taskId}`,
      advice: `run ${HERALD} balance to list them, and report this as a bug`,
    }
  } catch (error) {
    return {
      area: 'balance',
      state: 'warn',
      what: `the counters could not be read: ${reasonOf(error)}`,
      advice: `run ${HERALD} balance while the server has little to do`,
    }
  }
}

async function checkMigrations(databaseUrl: string): Promise<Finding> {
  try {
    return judgeMigrations(await migrationState(databaseUrl))
  } catch (error) {
    return {
      area: 'migrations',
      state: 'fail',
      what: reasonOf(error),
      advice: 'run the Herald version that migrated this database',
    }
  }
}

async function checkQueue(queueUrl: string): Promise<Finding[]> {
  try {
    return judgeQueue(await examineQueue(queueUrl))
  } catch (error) {
    return [
      {
        area: 'queue',
        state: 'fail',
        what: (error as Error).message,
        advice: 'check QUEUE_URL, that the server is running, and that it accepts this machine',
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

/** Host and database, without the password. */
function describeUrl(databaseUrl: string): string {
  const { host, pathname } = new URL(databaseUrl)
  return `the database ${pathname.slice(1) || '(default)'} at ${host}`
}
