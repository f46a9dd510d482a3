import { Readable } from 'node:stream'
import { type Metrics, rounded } from '../metric.ts'
import { openStage } from './stage.ts'

/** Devices with an alias, two tags and one binding each, streamed as NDJSON through the API. */
export async function measureImport(devices: number): Promise<Metrics> {
  const stage = await openStage({ queue: 'postgres', workers: [] })
  try {
    const started = performance.now()
    const answer = await fetch(`${stage.base}/admin/device/import`, {
      method: 'POST',
      headers: { ...stage.headers, 'content-type': 'application/x-ndjson' },
      body: Readable.toWeb(Readable.from(lines(devices))) as ReadableStream,
      duplex: 'half',
    } as RequestInit)
    const envelope = (await answer.json()) as { code: number; message: string }
    if (envelope.code !== 200) throw new Error(envelope.message)
    const seconds = (performance.now() - started) / 1000
    const { rows } = await stage.db.pool.query<{ count: number }>('SELECT count(*)::int AS count FROM device')
    if (rows[0]!.count !== devices) throw new Error(`${rows[0]!.count} devices arrived of ${devices}`)
    return {
      import_devices_per_s: {
        value: rounded(devices / seconds),
        unit: 'devices/s',
        note: `${devices.toLocaleString('en')} devices with one binding, one alias, two tags; API ${rounded(stage.memory().get('api') ?? 0)} MB afterwards`,
      },
    }
  } finally {
    await stage.stop()
  }
}

function* lines(devices: number): Generator<Buffer> {
  let block = ''
  for (let n = 0; n < devices; n++) {
    block += `{"device_guid":"guid-${n}","platform":"android","alias":"alias-${n}","tags":["all","t${n % 100}"],"bindings":[{"provider":3,"device_token":"d${n}//${'x'.repeat(40)}${n}"}]}\n`
    if (block.length > 65_536) {
      yield Buffer.from(block)
      block = ''
    }
  }
  yield Buffer.from(block)
}
