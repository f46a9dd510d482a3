import { eachConcurrently } from '@herald/async'
import { WebSocket } from 'ws'

/** Requests of the benchmark to this process; each gets one response. */
export type ClientsRequest =
  | { ask: 'connect'; url: string; tokens: string[] }
  /** Closes and reopens `perSecond` connections per second; 0 ends it. */
  | { ask: 'churn'; perSecond: number }
  | { ask: 'received'; task: number }
export type ClientsResponse = { connected: number; reconnects: number; received: number }

/** Loopback addresses that the clients connect from, because one address does not have enough ports. */
const ADDRESSES = 8
const PARALLEL = 200
const CHURN_MS = 20

type Client = { token: string; address: string; socket?: WebSocket; welcomed: boolean }

const clients: Client[] = []
const received = new Map<number, Set<Client>>()
let url = ''
let churning: NodeJS.Timeout | undefined
let reconnects = 0

/** Resolves when the gateway has welcomed the device; reconnects after a failure. */
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
        const devices = received.get(task) ?? new Set()
        received.set(task, devices.add(client))
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
  const added = tokens.map(
    (token, i): Client => ({ token, address: `127.0.0.${2 + (i % ADDRESSES)}`, welcomed: false }),
  )
  clients.push(...added)
  await eachConcurrently(added, PARALLEL, open)
}

function churn(perSecond: number): void {
  clearInterval(churning)
  if (perSecond === 0) return
  churning = setInterval(() => {
    for (let n = 0; n < (perSecond * CHURN_MS) / 1000; n++) {
      const client = clients[Math.floor(Math.random() * clients.length)]!
      if (!client.welcomed) continue
      const old = client.socket
      client.socket = undefined
      old?.terminate()
      reconnects++
      void open(client)
    }
  }, CHURN_MS)
}

process.on('message', async (request: ClientsRequest) => {
  if (request.ask === 'connect') {
    url = request.url
    await connectAll(request.tokens)
  } else if (request.ask === 'churn') churn(request.perSecond)
  const response: ClientsResponse = {
    connected: clients.filter(({ welcomed }) => welcomed).length,
    reconnects,
    received: (request.ask === 'received' && received.get(request.task)?.size) || 0,
  }
  process.send!(response)
})
process.on('disconnect', () => process.exit())
process.send!('ready')
