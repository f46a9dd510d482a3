import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Entries and requests so far, and when the first and the last request had arrived (ms). */
export type EventCounts = { entries: number; requests: number; bytes: number; first: number; last: number }

// Run by webhooks.ts: sends its port, takes the secret of the webhook, then sends its counts on each message. Checks every signature.
const counts: EventCounts = { entries: 0, requests: 0, bytes: 0, first: 0, last: 0 }
let key: Buffer
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const body = Buffer.concat(chunks)
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = request.headers
    const expected = `v1,${createHmac('sha256', key).update(`${id}.${at}.`).update(body).digest('base64')}`
    if (signature !== expected) return response.writeHead(401).end()
    for (let place = body.indexOf('{"id":"'); place >= 0; place = body.indexOf('{"id":"', place + 7))
      counts.entries++
    counts.requests++
    counts.bytes += body.length
    counts.last = performance.now()
    counts.first ||= counts.last
    response.writeHead(204).end()
  })
})
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }))
process.on('message', (message: { secret?: string }) => {
  if (message.secret !== undefined) key = Buffer.from(message.secret.replace('whsec_', ''), 'base64')
  process.send!(counts)
})
process.on('disconnect', () => process.exit(0))
