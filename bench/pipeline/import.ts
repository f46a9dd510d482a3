import { once } from 'node:events'
import { createReadStream, createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { costOfEach, type Metrics, rounded } from '../metric.ts'
import { openStage, type Stage } from './stage.ts'

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

/** Devices as NDJSON through the API: a file is streamed, so that writing the lines does not count. */
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
  const stage = await openStage({ queue: 'postgres', workers: [] })
  try {
    const time = stage.processorTime()
    const started = performance.now()
    const envelope = JSON.parse(await upload(stage, path))
    if (envelope.code !== 200) throw new Error(envelope.message)
    const seconds = (performance.now() - started) / 1000
    const cost = costOfEach(time, stage.processorTime(), devices)
    const { rows } = await stage.db.pool.query<{ count: number }>('SELECT count(*)::int AS count FROM device')
    if (rows[0]!.count !== devices) throw new Error(`${rows[0]!.count} devices arrived of ${devices}`)
    return {
      value: rounded(devices / seconds),
      unit: 'devices/s',
      note: `${devices.toLocaleString('en')} devices, ${shape.note}; API ${rounded(stage.memory().get('api') ?? 0)} MB afterwards; ${cost}`,
    }
  } finally {
    await stage.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function upload({ base, headers }: Stage, path: string): Promise<string> {
  const call = request(`${base}/admin/device/import`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/x-ndjson' },
  })
  const answered = once(call, 'response')
  await pipeline(createReadStream(path, { highWaterMark: 262_144 }), call)
  const [response] = await answered
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
