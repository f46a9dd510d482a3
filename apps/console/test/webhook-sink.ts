import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Sink = {
  url: string
  /** Types of the entries of accepted requests, in order. */
  types: string[]
  /** HTTP status of the next answers. */
  answerWith(status: number): void
  close(): Promise<void>
}

/** A server of an application that gets the requests of a webhook. */
export async function startSink(): Promise<Sink> {
  const types: string[] = []
  let status = 204
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const part of request.setEncoding('utf8')) text += part
    if (status < 300) {
      const { data } = JSON.parse(text) as { data: { type: string }[] }
      types.push(...data.map(({ type }) => type))
    }
    response.writeHead(status).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/herald`,
    types,
    answerWith(next) {
      status = next
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
