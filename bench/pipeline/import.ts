import { once } from 'node:events'
import { createReadStream, createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { cpuPerItem, type Metrics, rounded } from '../metric.ts'
import { type Deployment, startDeployment } from './deployment.ts'

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
  return {
    import_devices_per_s: await importAll(devices, plain),
    import_tagged_devices_per_s: await importAll(devices, rich),
  }
}

async function importAll(devices: number, shape: Shape) {
  const folder = mkdtempSync(join(tmpdir(), 'herald-import-'))
  const path = join(folder, 'devices.ndjson')
  await pipeline(Readable.from(blocks(devices, shape)), createWriteStream(path))
  const herald = await startDeployment({ queue: 'postgres', workers: [] })
  try {
    const cpu = herald.cpuTime()
    const started = performance.now()
    const envelope = JSON.parse(await upload(herald, path))
    if (envelope.code !== 200) throw new Error(envelope.message)
    const seconds = (performance.now() - started) / 1000
    const cost = cpuPerItem(cpu, herald.cpuTime(), devices)
    const { rows } = await herald.db.pool.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM device',
    )
    if (rows[0]!.count !== devices) throw new Error(`${rows[0]!.count} devices arrived of ${devices}`)
    return {
      value: rounded(devices / seconds),
      unit: 'devices/s',
      note: `${devices.toLocaleString('en')} devices, ${shape.note}; API ${rounded(herald.memory().get('api') ?? 0)} MB afterwards; ${cost}`,
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
