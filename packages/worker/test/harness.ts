import type { ChannelAdapter } from '@herald/channels'
import { bind } from '@herald/db/devices'
import { createSealer, type Database } from '@herald/db/store'
import type { VendorChannel } from '@herald/domain'
import { createAnswers } from '../src/answers.ts'
import { createRunner, type RunnerDeps } from '../src/runner.ts'
import { createTransports } from '../src/transports.ts'

/** As that of `addCertificate`. */
export const sealer = createSealer(Buffer.alloc(32))

/** An adapter that accepts everything, with one request per device. */
export function adapterWith(own: Pick<ChannelAdapter, 'open'> & Partial<ChannelAdapter>): ChannelAdapter {
  return {
    name: 'apns',
    tokensPerCall: 1000,
    onePerDevice: true,
    readSettings: ({ name }) => ({ name }),
    limits: () => ({ timeZone: 'UTC' }),
    defaultClass: () => 'marketing',
    mapPayload: () => ({}),
    checkToken: () => undefined,
    ...own,
  }
}

/** A worker with connections of its own, as one process has; by default of APNs. */
export function openWorker({
  db,
  answers = createAnswers(db, () => {}),
  transports = createTransports(
    () => ({}) as never,
    () => {},
    { max: 100, idleMs: 3_600_000 },
  ),
  ...deps
}: Pick<RunnerDeps, 'db' | 'certificates'> & Partial<RunnerDeps>): ReturnType<typeof createRunner> {
  return createRunner({
    db,
    answers,
    transports,
    channel: 'apns',
    worker: 'w',
    timeoutMs: 60_000,
    log: { info: () => {}, warn: () => {}, error: () => {} },
    ...deps,
  })
}

/** A device whose guid, push token and token of each channel are `token`. */
export async function insertDevice(
  db: Database,
  appId: string,
  token: string,
  channels: readonly VendorChannel[] = ['apns'],
): Promise<number> {
  const { rows } = await db.pool.query<{ id: number }>(
    'INSERT INTO device (app_id, guid, push_token) VALUES ($1, $2, $2) RETURNING id',
    [appId, token],
  )
  const deviceId = rows[0]!.id
  for (const channel of channels)
    await bind(db, { appId, deviceId, channel, token, environment: 'production' })
  return deviceId
}
