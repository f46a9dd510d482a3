import { Connection, type ConnectionLimits } from '../../src/connection.ts'
import { maxStreamId, settingsFrame } from '../../src/frames.ts'
import { Multicast } from '../../src/multicast.ts'
import type { Goaway, MulticastRequest } from '../../src/multicast-request.ts'
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

/** A connection without a socket: the test sets its clock and acts as its server. */
export class TestConnection {
  readonly connection: Connection
  readonly log = new FrameLog()
  readonly goaways: Goaway[] = []
  now = 0
  /** Whether unsent requests return to their multicast, as in a pool, instead of being reported. */
  replays = false

  constructor(limits: Partial<ConnectionLimits> = {}) {
    this.connection = new Connection(
      { ...defaultLimits, ...limits },
      {
        onReady: () => {},
        onUnsent: (multicast, index, failure) => {
          if (this.replays) multicast.replay(index, failure)
          else multicast.fail(index, failure)
        },
        onGoaway: (goaway) => this.goaways.push(goaway),
      },
      0,
    )
  }

  /** The client receives these frames. */
  say(...frames: Uint8Array[]): void {
    this.connection.receive(Buffer.concat(frames), this.now)
    this.read()
  }

  /** Adds what the client wrote to the log. */
  read(): FrameLog {
    for (const piece of this.connection.sender.outbox.take()) this.log.push(piece)
    return this.log
  }

  /** Creates a multicast without sending anything. */
  multicast(request: Partial<MulticastRequest> = {}): { multicast: Multicast; recorder: Recorder } {
    const recorder = new Recorder()
    const whole: MulticastRequest = {
      count: 1,
      headers: { 'x-shared': 'the same for all' },
      path: (index) => `/to/${index}`,
      ...recorder.callbacks,
      ...request,
    }
    const shape = shapeRequest(whole, { scheme: 'https', authority: 'bench.test' })
    const totals = { replies: 0, unsent: 0, unknown: 0, replays: 0 }
    return { multicast: new Multicast(shape, whole, this.now, 1, totals, () => {}), recorder }
  }

  /** Sends as many of the multicast's requests as there is capacity for. */
  send(multicast: Multicast): number {
    let sent = 0
    while (this.connection.capacity > 0) {
      const index = multicast.take()
      if (index < 0) break
      this.connection.open(multicast, index, this.now)
      sent += 1
    }
    this.read()
    return sent
  }
}

/** A connection that has got the reply to its first request, so that it sends concurrently. */
export function warmConnection(
  settings: readonly (readonly [number, number])[] = [],
  limits: Partial<ConnectionLimits> = {},
): TestConnection {
  const bench = new TestConnection(limits)
  bench.say(settingsFrame(settings))
  bench.now = 2_000
  const { multicast } = bench.multicast()
  bench.send(multicast)
  bench.say(Buffer.from([0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88]))
  bench.log.take()
  return bench
}
