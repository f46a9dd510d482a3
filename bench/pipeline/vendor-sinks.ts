import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { VendorChannel } from '@herald/domain'
import { statOf } from '../process-figures.ts'
import type { DeviceCounts, ListCounts } from './list-sink.ts'
import { startSink } from './stage.ts'

export type VendorSinks = Awaited<ReturnType<typeof startVendorSinks>>

/** Every vendor as a sink: HTTP/2 for APNs and FCM, a process each, and one for all that take lists. */
export async function startVendorSinks() {
  const apns = await startSink()
  const fcm = await startSink()
  const lists = fork(fileURLToPath(new URL('./list-sink-process.ts', import.meta.url)))
  const [{ port }] = (await once(lists, 'message')) as [{ port: number }]
  const at = (vendor: VendorChannel) => `http://127.0.0.1:${port}/${vendor}`
  const pids = { 'sink-apns': apns.pid, 'sink-fcm': fcm.pid, 'sink-lists': lists.pid! }

  return {
    /** Settings that point Herald's programs at them. */
    env: {
      HERALD_APNS_URL: apns.url,
      HERALD_FCM_URL: fcm.url,
      HERALD_FCM_TOKEN_URL: at('fcm'),
      HERALD_HUAWEI_URL: at('huawei'),
      HERALD_HUAWEI_AUTH_URL: at('huawei'),
      HERALD_HONOR_URL: at('honor'),
      HERALD_HONOR_AUTH_URL: at('honor'),
      HERALD_XIAOMI_URL: at('xiaomi'),
      HERALD_OPPO_URL: at('oppo'),
      HERALD_VIVO_URL: at('vivo'),
      HERALD_MEIZU_URL: at('meizu'),
    },
    /** What each saw since it was last asked. */
    async takeCounts(): Promise<Partial<Record<VendorChannel, DeviceCounts>>> {
      lists.send('counts')
      const [listed] = (await once(lists, 'message')) as [ListCounts]
      return { ...listed, apns: await apns.counts(), fcm: await fcm.counts() }
    },
    /** Processor seconds of each process since its start. */
    processorTime: () =>
      new Map(Object.entries(pids).map(([name, pid]) => [name, statOf(pid)?.seconds ?? 0])),
    stop() {
      apns.stop()
      fcm.stop()
      lists.disconnect()
    },
  }
}
