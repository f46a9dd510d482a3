import type { Job } from './job.ts'

/** One request under way: whose it is, what is left to send, what has come back. */
export class Stream {
  readonly id: number
  readonly job: Job
  readonly index: number
  /** Milliseconds on the connection's clock after which the request is given up. */
  deadline: number
  sendWindow: number
  /** The part of the body that flow control holds back. */
  unsent: Buffer | undefined = undefined

  /** 0 until the final header block has come. */
  status = 0
  informational = 0
  fields: string[] = noFields
  body: Buffer = noBody
  bodyLength = 0

  constructor(id: number, job: Job, index: number, deadline: number, sendWindow: number) {
    this.id = id
    this.job = job
    this.index = index
    this.deadline = deadline
    this.sendWindow = sendWindow
  }
}

const noFields: string[] = []
const noBody: Buffer = Buffer.alloc(0)
