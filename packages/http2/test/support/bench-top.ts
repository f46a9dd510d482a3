import { Connection, type ConnectionLimits } from '../../src/connection.ts'
import { maxStreamId, settingsFrame } from '../../src/frames.ts'
import { Job } from '../../src/job.ts'
import type { Goaway, Multicast } from '../../src/multicast.ts'
import { shapeRequest } from '../../src/request-shape.ts'
import { FrameLog } from './frame-log.ts'
import { Recorder } from './recorder.ts'

export const defaultLimits: ConnectionLimits = {
  maxStreams: 1000,
  maxReplyBytes: 65_536,
  maxHeaderListBytes: 16_384,
  receiveWindow: 1_048_576,
  lastStreamId: maxStreamId,
}

/** A connection on the bench: no socket, its clock in the test's hand, the test as its server. */
export class BenchTop {
  readonly connection: Connection
  readonly log = new FrameLog()
  readonly goaways: Goaway[] = []
  now = 0
  /** Whether what was certainly not processed goes back to its job, as in a pool, instead of being reported. */
  replays = false

  constructor(limits: Partial<ConnectionLimits> = {}) {
    this.connection = new Connection(
      { ...defaultLimits, ...limits },
      {
        onReady: () => {},
        onUnsent: (job, index, failure) => {
          if (this.replays) job.takeBack(index, failure)
          else job.fail(index, failure)
        },
        onGoaway: (goaway) => this.goaways.push(goaway),
      },
      0,
    )
  }

  /** The server says this. */
  say(...frames: Uint8Array[]): void {
    this.connection.receive(Buffer.concat(frames), this.now)
    this.read()
  }

  /** Takes what the client wrote into the log. */
  read(): FrameLog {
    for (const piece of this.connection.sender.outbox.take()) this.log.push(piece)
    return this.log
  }

  /** A multicast of which nothing is sent yet. */
  job(request: Partial<Multicast> = {}): { job: Job; recorder: Recorder } {
    const recorder = new Recorder()
    const whole: Multicast = {
      count: 1,
      headers: { 'x-shared': 'the same for all' },
      path: (index) => `/to/${index}`,
      ...recorder.callbacks,
      ...request,
    }
    const shape = shapeRequest(whole, { scheme: 'https', authority: 'bench.test' })
    const totals = { replies: 0, unsent: 0, unknown: 0, replays: 0 }
    return { job: new Job(shape, whole, this.now, 1, totals, () => {}), recorder }
  }

  /** Sends as many of the job's requests as there is capacity for. */
  send(job: Job): number {
    let sent = 0
    while (this.connection.capacity > 0) {
      const index = job.take()
      if (index < 0) break
      this.connection.open(job, index, this.now)
      sent += 1
    }
    this.read()
    return sent
  }
}

/** A bench whose connection is past its first, lonely request. */
export function warmBench(
  settings: readonly (readonly [number, number])[] = [],
  limits: Partial<ConnectionLimits> = {},
): BenchTop {
  const bench = new BenchTop(limits)
  bench.say(settingsFrame(settings))
  bench.now = 2_000
  const { job } = bench.job()
  bench.send(job)
  bench.say(Buffer.from([0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88]))
  bench.log.take()
  return bench
}
