import type { Multicast } from './multicast.ts'

/** One request in flight: its multicast, what is left to send, what was received. */
export class Stream {
  readonly id: number
  readonly multicast: Multicast
  readonly index: number
  /** Time on the connection's clock after which the request is cancelled. */
  deadline: number
  sendWindow: number
  /** The part of the body that flow control delays. */
  unsent: Buffer | undefined = undefined

  /** 0 until the final header block was received. */
  status = 0
  informational = 0
  fields: string[] = noFields
  body: Buffer = noBody
  bodyLength = 0

  constructor(id: number, multicast: Multicast, index: number, deadline: number, sendWindow: number) {
    this.id = id
    this.multicast = multicast
    this.index = index
    this.deadline = deadline
    this.sendWindow = sendWindow
  }
}

const noFields: string[] = []
const noBody: Buffer = Buffer.alloc(0)
