import { startChild } from '../child.ts'

/** Concurrent streams that the sink allows. h2load is fastest with as many as the other clients get. */
export const maxStreams = 1_000

/** Host for which the sink has a certificate, in addition to localhost. */
const proxiedHost = 'api.push.apple.com'

type Ready = { port: number; proxyPort: number; authority: string }

/** Pushes received, and distinct devices among them. */
export type PushCounts = { requests: number; distinct: number }
export type Sink = Awaited<ReturnType<typeof startSink>>

/** Starts the HTTP/2 sink in its own process. It counts distinct pushes, so that a benchmark notices when one is lost. */
export async function startSink() {
  const file = new URL('./sink.ts', import.meta.url)
  const child = await startChild<'counts', PushCounts, Ready>(file, [String(maxStreams), proxiedHost])
  const { port, proxyPort, authority } = child.ready
  return {
    port,
    url: `https://localhost:${port}`,
    pid: child.pid,
    /** Accepts CONNECT: for clients whose only address is that of APNs. */
    proxyPort,
    /** PEM of the authority that signed the certificate for this host. */
    authority,
    /** Counts since the previous call. */
    takeCounts: () => child.ask('counts'),
    stop: child.stop,
  }
}
