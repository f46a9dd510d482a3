import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Random } from './random.ts'

/** What the server of an application received: each entry once, by its id. */
export type SinkRecords = {
  /** Entries by `countName`. */
  counts: ReadonlyMap<string, number>
  /** Devices with an entry device.sent, by `sentName`; erased ones have no name. */
  sent: ReadonlyMap<string, ReadonlySet<string>>
  /** All entries, and those that came again. */
  entries: number
  repeated: number
  requests: number
  /** Requests that were answered with an error, or not at all. */
  failed: number
}

export type EventSink = {
  url: string
  records(): SinkRecords
  close(): Promise<void>
}

export const countName = (task: number | undefined, channel: string | undefined, type: string) =>
  `${task ?? ''}/${channel ?? ''}/${type}`
export const sentName = (task: number, channel: string) => `${task}/${channel}`

type Entry = { id: string; type: string; task_id?: number; channel?: string; device_guid?: string }

/** The server works and fails in turn for this long, so it fails half of the time. */
const HALF_MS = 3000
/** While it works, this share of its answers is lost. */
const LOST = 0.03
/** Then one is answered. The pause before a repetition doubles: without this limit it could be longer than the drill waits for an event. */
const MAX_FAILED_IN_A_ROW = 4

/**
 * The server of an application: it checks signatures and keeps what the entries say. Half of the time it fails: before it has read the request,
 * after it has kept the entries, or without an answer. It does not fail more than four requests in a row.
 */
export async function startEventSink(options: {
  secret: string
  random: Random
  onBroken(sentence: string): void
  /** Unix ms; replaced by specs. */
  now?: () => number
}): Promise<EventSink> {
  const { secret, random, onBroken, now = Date.now } = options
  const counts = new Map<string, number>()
  const sent = new Map<string, Set<string>>()
  /** Number of entries by the id of the request. */
  const sizes = new Map<string, number>()
  let last: Place = { event: 0, part: -1 }
  let entries = 0
  let repeated = 0
  let requests = 0
  let failed = 0
  let failedInARow = 0

  function keep(id: string, body: Buffer): void {
    const { data } = JSON.parse(body.toString()) as { data: Entry[] }
    const size = sizes.get(id)
    if (size !== undefined && size !== data.length)
      onBroken(`the request ${id} had ${size} entries, and ${data.length} when it was repeated`)
    sizes.set(id, data.length)
    for (const entry of data) {
      const place = placeOf(entry.id)
      // Requests come one after another, in the order of the stream: what is not later than the last entry was there before.
      if (!isLater(place, last)) {
        repeated++
        continue
      }
      last = place
      entries++
      const name = countName(entry.task_id, entry.channel, entry.type)
      counts.set(name, (counts.get(name) ?? 0) + 1)
      if (entry.type === 'device.sent' && entry.device_guid !== undefined) {
        const of = sentName(entry.task_id!, entry.channel!)
        const devices = sent.get(of) ?? new Set()
        if (devices.has(entry.device_guid))
          onBroken(`${entry.device_guid} has two entries device.sent, ${of}`)
        sent.set(of, devices.add(entry.device_guid))
      }
    }
  }

  function fail(response: ServerResponse): void {
    failed++
    failedInARow++
    if (random() < 0.5) response.writeHead(random() < 0.5 ? 500 : 503).end()
    else response.destroy()
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requests++
    const mayFail = failedInARow < MAX_FAILED_IN_A_ROW
    const isDown = mayFail && Math.floor(now() / HALF_MS) % 2 === 1
    if (isDown && random() < 0.5) return fail(response)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const id = String(request.headers['webhook-id'])
    if (!isSigned(secret, request, body)) onBroken(`the request ${id} has a wrong signature`)
    else keep(id, body)
    if (isDown || (mayFail && random() < LOST)) return fail(response)
    failedInARow = 0
    response.writeHead(204).end()
  }

  const server = createServer((request, response) => {
    // The courier was killed while it sent.
    serve(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    records: () => ({ counts, sent, entries, repeated, requests, failed }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

type Place = { event: number; part: number }

function placeOf(id: string): Place {
  const [event, part] = id.split('-').map(Number) as [number, number]
  return { event, part }
}

const isLater = (a: Place, b: Place) => a.event > b.event || (a.event === b.event && a.part > b.part)

function isSigned(secret: string, { headers }: IncomingMessage, body: Buffer): boolean {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const wanted = Buffer.from(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`)
  const given = Buffer.from(String(headers['webhook-signature']))
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}
