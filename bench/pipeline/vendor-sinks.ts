import { cardOf, type VendorChannel } from '@herald/domain'
import { startChild } from '../child.ts'
import { type PushCounts, startSink } from '../http2/start-sink.ts'
import { statOf } from '../process-figures.ts'
import type { ListCounts } from './list-sink.ts'
import { measuredVendors } from './vendor-calls.ts'

export type VendorSinks = Awaited<ReturnType<typeof startVendorSinks>>

/** Starts the sinks of the measured vendors: one process each for APNs and FCM (HTTP/2), one for all vendors that take lists. */
export async function startVendorSinks() {
  const apns = await startSink()
  const fcm = await startSink()
  const file = new URL('./list-sink-process.ts', import.meta.url)
  const lists = await startChild<'counts', ListCounts, { port: number }>(file)
  const urlOf = (vendor: VendorChannel) => `http://127.0.0.1:${lists.ready.port}/${vendor}`
  const pids = { 'sink-apns': apns.pid, 'sink-fcm': fcm.pid, 'sink-lists': lists.pid }

  return {
    /** Settings that direct Herald's programs to the sinks. */
    env: {
      ...Object.fromEntries(
        measuredVendors.flatMap((vendor) =>
          Object.values(cardOf(vendor).addresses).map(({ setting }) => [setting, urlOf(vendor)]),
        ),
      ),
      HERALD_APNS_URL: apns.url,
      HERALD_FCM_URL: fcm.url,
    },
    /** Counts since the previous call. */
    async takeCounts(): Promise<Partial<Record<VendorChannel, PushCounts>>> {
      return { ...(await lists.ask('counts')), apns: await apns.takeCounts(), fcm: await fcm.takeCounts() }
    },
    /** CPU seconds of each process since its start. */
    cpuTime: () => new Map(Object.entries(pids).map(([name, pid]) => [name, statOf(pid)?.seconds ?? 0])),
    async stop() {
      await Promise.all([apns.stop(), fcm.stop(), lists.stop()])
    },
  }
}
