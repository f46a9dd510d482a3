import { connect, type Socket } from 'node:net'

export type RawAnswer = { status: number; head: string; body: string }

/**
 * Sends requests given as bytes, pipelined over few connections: `fetch` would take more CPU than the server under test.
 * Every request must be framed so that it gets one answer.
 */
export async function sendPipelined(
  port: number,
  requests: Iterator<Buffer>,
  onAnswer: (answer: RawAnswer, request: Buffer) => void,
  options: { connections?: number; window?: number } = {},
): Promise<void> {
  const { connections = 8, window = 16 } = options
  await Promise.all(Array.from({ length: connections }, () => runLane(port, requests, onAnswer, window)))
}

async function runLane(
  port: number,
  requests: Iterator<Buffer>,
  onAnswer: (answer: RawAnswer, request: Buffer) => void,
  window: number,
): Promise<void> {
  let again: Buffer[] = []
  const take = (): Buffer | undefined => {
    const left = again.shift()
    if (left) return left
    const { value, done } = requests.next()
    return done ? undefined : value
  }
  for (;;) {
    const first = take()
    if (!first) return
    // The server may close a connection after an answer; requests sent after that one are sent again.
    again = [...(await runConnection(port, first, take, onAnswer, window)), ...again]
  }
}

function runConnection(
  port: number,
  first: Buffer,
  take: () => Buffer | undefined,
  onAnswer: (answer: RawAnswer, request: Buffer) => void,
  window: number,
): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, '127.0.0.1')
    const inFlight: Buffer[] = []
    let pending = Buffer.alloc(0)
    let answered = 0
    const send = (request: Buffer) => {
      inFlight.push(request)
      socket.write(request)
    }
    const fill = () => {
      while (inFlight.length < window) {
        const request = take()
        if (!request) break
        send(request)
      }
      if (inFlight.length === 0) socket.end()
    }
    socket.setNoDelay(true)
    socket.on('connect', () => {
      send(first)
      fill()
    })
    socket.on('data', (chunk) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
      for (;;) {
        const read = readAnswer(pending)
        if (!read) break
        pending = pending.subarray(read.length)
        answered++
        const request = inFlight.shift()
        if (!request) return reject(new Error(`an answer nobody asked for: ${read.answer.head}`))
        try {
          onAnswer(read.answer, request)
        } catch (error) {
          socket.destroy()
          return reject(error)
        }
      }
      if (!socket.writableEnded) fill()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      if (answered === 0 && inFlight.length > 0)
        reject(new Error(`no answer to ${inFlight[0]!.toString('latin1').slice(0, 500)}`))
      else resolve(inFlight)
    })
  })
}

function readAnswer(bytes: Buffer): { answer: RawAnswer; length: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const head = bytes.toString('latin1', 0, end)
  const status = Number(head.slice(9, 12))
  if (/\r\ntransfer-encoding: chunked/i.test(head)) {
    const read = readChunks(bytes, end + 4)
    return read && { answer: { status, head, body: read.body.toString('utf8') }, length: read.end }
  }
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1])
  if (Number.isNaN(length)) throw new Error(`an answer without content-length: ${head}`)
  if (bytes.length < end + 4 + length) return undefined
  return {
    answer: { status, head, body: bytes.toString('utf8', end + 4, end + 4 + length) },
    length: end + 4 + length,
  }
}

/** Undefined until the last chunk is there. */
function readChunks(bytes: Buffer, from: number): { body: Buffer; end: number } | undefined {
  const parts: Buffer[] = []
  for (let at = from; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    const next = line + 2 + size + 2
    if (bytes.length < next) return undefined
    if (size === 0) return { body: Buffer.concat(parts), end: next }
    parts.push(bytes.subarray(line + 2, line + 2 + size))
    at = next
  }
}
