import { startChild } from '../child.ts'

/** Concurrent streams that the sink allows. h2load is fastest with as many as the other clients get. */
export const maxStreams = 1_000

/** Pushes received, and distinct devices among them. */
export type PushCounts = { requests: number; distinct: number }
export type Sink = Awaited<ReturnType<typeof startSink>>

/** Starts the HTTP/2 sink in its own process. It counts distinct pushes, so that a benchmark notices when one is lost. */
export async function startSink() {
  const file = new URL('./sink.ts', import.meta.url)
  const child = await startChild<'counts', PushCounts, { port: number }>(file, [String(maxStreams)])
  const { port } = child.ready
  return {
    port,
    url: `https://localhost:${port}`,
    pid: child.pid,
    /** Counts since the previous call. */
    takeCounts: () => child.ask('counts'),
    stop: child.stop,
  }
}
