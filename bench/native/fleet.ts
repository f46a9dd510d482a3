import { WebSocket } from 'ws'

/** What the bench asks of the fleet, and what the fleet answers; one answer a question. */
export type FleetQuestion =
  | { ask: 'connect'; url: string; tokens: string[] }
  /** Cuts and reopens so many connections a second; 0 ends it. */
  | { ask: 'churn'; perSecond: number }
  | { ask: 'received'; task: number }
export type FleetAnswer = { connected: number; reconnects: number; received: number; lastAt: number }

/** Addresses of the loopback network the clients come from: one address has only so many ports. */
const ADDRESSES = 8
const PARALLEL = 200

type Client = { token: string; address: string; socket?: WebSocket; welcomed: boolean }

const clients: Client[] = []
const received = new Map<number, { devices: Set<Client>; lastAt: number }>()
let url = ''
let churning: NodeJS.Timeout | undefined
let reconnects = 0

/** Resolves when the gateway has welcomed the device; a connection that fails is tried again. */
function open(client: Client): Promise<void> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url, ['herald.v1'], {
      localAddress: client.address,
      perMessageDeflate: false,
    })
    client.socket = socket
    client.welcomed = false
    socket.on('open', () => socket.send(JSON.stringify({ op: 'hello', push_token: client.token })))
    socket.on('message', (data) => {
      const text = String(data)
      if (text.startsWith('{"op":"push"')) {
        const task = Number(/"task_id":(\d+)/.exec(text)![1])
        socket.send(`{"op":"ack","task_ids":[${task}]}`)
        const entry = received.get(task) ?? { devices: new Set(), lastAt: 0 }
        received.set(task, entry)
        if (!entry.devices.has(client)) entry.lastAt = Date.now()
        entry.devices.add(client)
      } else {
        client.welcomed = true
        resolve()
      }
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      if (client.socket !== socket) return
      client.welcomed = false
      setTimeout(() => resolve(open(client)), 100 + Math.random() * 400)
    })
  })
}

async function connectAll(tokens: string[]): Promise<void> {
  const fresh = tokens.map(
    (token, i): Client => ({
      token,
      address: `127.0.0.${2 + (i % ADDRESSES)}`,
      welcomed: false,
    }),
  )
  clients.push(...fresh)
  const queue = fresh.values()
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      for (const client of queue) await open(client)
    }),
  )
}

function churn(perSecond: number): void {
  clearInterval(churning)
  churning = undefined
  if (perSecond === 0) return
  const every = 20
  churning = setInterval(() => {
    for (let n = 0; n < (perSecond * every) / 1000; n++) {
      const client = clients[Math.floor(Math.random() * clients.length)]!
      if (!client.welcomed) continue
      const old = client.socket
      client.socket = undefined
      old?.terminate()
      reconnects++
      void open(client)
    }
  }, every)
}

process.on('message', async (question: FleetQuestion) => {
  if (question.ask === 'connect') {
    url = question.url
    await connectAll(question.tokens)
  } else if (question.ask === 'churn') churn(question.perSecond)
  const entry = question.ask === 'received' ? received.get(question.task) : undefined
  const answer: FleetAnswer = {
    connected: clients.filter(({ welcomed }) => welcomed).length,
    reconnects,
    received: entry?.devices.size ?? 0,
    lastAt: entry?.lastAt ?? 0,
  }
  process.send!(answer)
})
process.on('disconnect', () => process.exit())
