import { cpuPerItem, type Metric, type Metrics, percentile, rounded } from '../metric.ts'
import { type Deployment, startDeployment } from './deployment.ts'
import { sendRequests } from './raw-client.ts'

const SINGLE_CONNECTIONS = 64
const BATCH = 1000
const BATCH_CONNECTIONS = 4

/** A device as an application's own server writes it; the second version changes one field of a plain device, two of a full one. */
function deviceOf(n: number, version: 1 | 2, fields: Call['fields']) {
  const plain = {
    device_guid: `guid-${n}`,
    platform: 'android',
    alias: `person-${n}`,
    bindings: [{ provider: 3, device_token: `d${n}//${'x'.repeat(40)}${n}` }],
    app_version: `${version}.0`,
  }
  if (fields === 'plain') return plain
  return {
    ...plain,
    add_tags: ['all', `t${n % 100}`],
    attributes: { plan: version === 1 ? 'free' : 'pro' },
    locale: 'zh-CN',
    timezone: 'Asia/Shanghai',
  }
}

type Call = {
  path: string
  method: 'PUT' | 'POST'
  connections: number
  devicesPerCall: number
  fields: 'plain' | 'full'
}

const fieldsOf = {
  plain: 'platform, alias, app version and a binding each',
  full: 'platform, alias, app version, a binding, two tags, attributes, locale and timezone each',
}

/** Upserts from the application's own server: half of them create a device, the other half change a known one. */
export async function measureDevices(singles: number, batched: number): Promise<Metrics> {
  const batch = {
    path: '/admin/device/batch',
    method: 'POST',
    connections: BATCH_CONNECTIONS,
    devicesPerCall: BATCH,
  } as const
  return {
    device_upserts_per_s: await measure(singles, {
      path: '/admin/device',
      method: 'PUT',
      connections: SINGLE_CONNECTIONS,
      devicesPerCall: 1,
      fields: 'full',
    }),
    device_batch_upserts_per_s: await measure(batched, { ...batch, fields: 'plain' }),
    device_batch_upserts_full_per_s: await measure(batched, { ...batch, fields: 'full' }),
  }
}

async function measure(upserts: number, call: Call): Promise<Metric> {
  const herald = await startDeployment({ queue: 'postgres', workers: [] })
  try {
    const devices = upserts / 2
    const cpu = herald.cpuTime()
    const created = await upsert(herald, devices, call, 1)
    const changed = await upsert(herald, devices, call, 2)
    const cost = cpuPerItem(cpu, herald.cpuTime(), upserts)
    const { rows } = await herald.db.pool.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM device WHERE app_version = '2.0'`,
    )
    if (rows[0]!.count !== devices) throw new Error(`${rows[0]!.count} devices arrived of ${devices}`)
    const rate = (ms: number, count: number) => rounded((count / ms) * 1000)
    const shape =
      call.devicesPerCall === 1
        ? `one per call, ${call.connections} connections, p99 ${rounded(percentile([...created.latencies, ...changed.latencies], 0.99))} ms`
        : `${call.devicesPerCall} per call, ${call.connections} connections`
    return {
      value: rate(created.tookMs + changed.tookMs, upserts),
      unit: 'devices/s',
      note: `${upserts.toLocaleString('en')} upserts, ${shape}; new devices ${rate(created.tookMs, devices)} per second, changes of known ones ${rate(changed.tookMs, devices)}; ${fieldsOf[call.fields]}; one API process, ${rounded(herald.memory().get('api') ?? 0)} MB afterwards; ${cost}`,
    }
  } finally {
    await herald.stop()
  }
}

function upsert(
  { base, headers }: Deployment,
  devices: number,
  { path, method, connections, devicesPerCall, fields }: Call,
  version: 1 | 2,
): Promise<{ latencies: number[]; tookMs: number }> {
  return sendRequests({
    base,
    path,
    method,
    headers,
    connections,
    count: devices / devicesPerCall,
    body(n) {
      if (devicesPerCall === 1) return JSON.stringify(deviceOf(n, version, fields))
      const from = n * devicesPerCall
      const list = Array.from({ length: devicesPerCall }, (_, i) => deviceOf(from + i, version, fields))
      return JSON.stringify({ list })
    },
  })
}
