import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from 'node:http2'

export type H2Answer = { status: number; headers: Record<string, unknown>; body: string }

export type H2Client = {
  session: ClientHttp2Session
  send(headers: OutgoingHttpHeaders, body?: string): Promise<H2Answer>
  /** Debug data of the server's GOAWAY; resolves when it arrives. */
  goaway: Promise<{ code: number; lastStreamId: number; data: string }>
  close(): void
}

/** A plain client based on node:http2. */
export function openH2Client(url: string, tls: { ca?: string; cert?: string; key?: string }): H2Client {
  const session = connect(url, tls)
  session.on('error', () => {})
  const goaway = new Promise<{ code: number; lastStreamId: number; data: string }>((resolve) => {
    session.on('goaway', (code, lastStreamId, data) =>
      resolve({ code, lastStreamId, data: data ? Buffer.from(data).toString() : '' }),
    )
  })
  return {
    session,
    goaway,
    send: (headers, body) =>
      new Promise((resolve, reject) => {
        const stream = session.request(headers, { endStream: body === undefined })
        let text = ''
        let answer: Record<string, unknown> | undefined
        stream.setEncoding('utf8')
        stream.on('response', (received) => {
          answer = received
        })
        stream.on('data', (chunk: string) => {
          text += chunk
        })
        stream.on('end', () => {
          if (answer) resolve({ status: Number(answer[':status']), headers: answer, body: text })
        })
        stream.on('error', reject)
        stream.on('close', () => reject(new Error(`closed with ${stream.rstCode}`)))
        if (body !== undefined) stream.end(body)
      }),
    close: () => session.destroy(),
  }
}
