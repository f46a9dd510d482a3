import { once } from 'node:events'
import { createReadStream, createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { cpuNote, cpuPerItem, type Metrics, rounded, totalCpuPerItem } from '../metric.ts'
import { type Deployment, type GivenDatabase, startDeployment } from './deployment.ts'

type Shape = { note: string; line(n: number): string }

const token = (n: number) => `d${n}//${'x'.repeat(40)}${n}`

const plain: Shape = {
  note: 'guid, platform and one binding each',
  line: (n) =>
    `{"device_guid":"guid-${n}","platform":"android","bindings":[{"provider":3,"device_token":"${token(n)}"}]}\n`,
}

const rich: Shape = {
  note: 'an alias and two tags in addition to the binding',
  line: (n) =>
    `{"device_guid":"guid-${n}","platform":"android","alias":"alias-${n}","tags":["all","t${n % 100}"],"bindings":[{"provider":3,"device_token":"${token(n)}"}]}\n`,
}

/** Imports devices as NDJSON through the API. The lines come from a file, so that building them is not measured. */
export async function measureImport(devices: number): Promise<Metrics> {
  return { ...(await importPlain(devices)), ...(await importTagged(devices)) }
}

/** Each needs a database of its own. */
export async function importPlain(devices: number, database?: GivenDatabase): Promise<Metrics> {
  const { rate, cpu, rss } = await importAll(devices, plain, database)
  return { import_devices_per_s: rate, import_cpu_us_per_device: cpu, import_rss_mb: rss }
}

export async function importTagged(devices: number, database?: GivenDatabase): Promise<Metrics> {
  const { rate, cpu } = await importAll(devices, rich, database)
  return { import_tagged_devices_per_s: rate, import_tagged_cpu_us_per_device: cpu }
}

async function importAll(devices: number, shape: Shape, database?: GivenDatabase) {
  const folder = mkdtempSync(join(tmpdir(), 'herald-import-'))
  const path = join(folder, 'devices.ndjson')
  await pipeline(Readable.from(blocks(devices, shape)), createWriteStream(path))
  const herald = await startDeployment({ queue: 'postgres', workers: [], database })
  try {
    const cpu = herald.cpuTime()
    const started = performance.now()
    const envelope = JSON.parse(await upload(herald, path))
    if (envelope.code !== 200) throw new Error(envelope.message)
    const seconds = (performance.now() - started) / 1000
    const after = herald.cpuTime()
    const mb = rounded(herald.memory().get('api') ?? 0)
    const { rows } = await herald.db.pool.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM device WHERE app_id = $1',
      [herald.appId],
    )
    if (rows[0]!.count !== devices) throw new Error(`${rows[0]!.count} devices arrived of ${devices}`)
    const what = `${devices.toLocaleString('en')} devices, ${shape.note}`
    return {
      rate: {
        value: rounded(devices / seconds),
        unit: 'devices/s',
        note: `${what}; API ${mb} MB afterwards; ${cpuPerItem(cpu, after, devices)}`,
      },
      cpu: { value: totalCpuPerItem(cpu, after, devices), unit: 'µs', note: `${what}; ${cpuNote}` },
      rss: { value: mb, unit: 'MB', note: `API after the import of ${what}` },
    }
  } finally {
    await herald.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function upload({ base, headers }: Deployment, path: string): Promise<string> {
  const call = request(`${base}/admin/device/import`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/x-ndjson' },
  })
  const responded = once(call, 'response')
  await pipeline(createReadStream(path, { highWaterMark: 262_144 }), call)
  const [response] = await responded
  return text(response)
}

function* blocks(devices: number, { line }: Shape): Generator<string> {
  let block = ''
  for (let n = 0; n < devices; n++) {
    block += line(n)
    if (block.length > 65_536) {
      yield block
      block = ''
    }
  }
  yield block
}
