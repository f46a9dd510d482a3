import { randomBytes } from 'node:crypto'
import { connect as connectTcp } from 'node:net'
import { createDice, type Dice, mutate, nastyJson, nastyTexts, until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connect, dial, type Harness, handshake, openHarness, type TestDevice } from './harness.ts'

const SEED = 20_261_115
const CONNECTIONS = 300
const FRAMES = 20

let harness: Harness
let gateway: Awaited<ReturnType<Harness['startGateway']>>
let app: string
let device: TestDevice

beforeAll(async () => {
  harness = await openHarness({ HERALD_GATEWAY_PER_ADDRESS: '0' })
  gateway = await harness.startGateway()
  app = await harness.addApplication('hostile')
  device = await harness.addDevice(app)
})
afterAll(() => harness.close())

/** Returns a client's frame, valid or not. */
function frameOf(dice: Dice, pushToken: string): Buffer {
  const texts = [
    JSON.stringify({ op: 'hello', push_token: pushToken }),
    JSON.stringify({ op: 'ack', task_ids: [1, 2, 3] }),
    `{"op":"ack","task_ids":${dice.pick(nastyJson)}}`,
    `{"op":"hello","push_token":${JSON.stringify(dice.pick(nastyTexts))}}`,
    `{"op":${dice.pick(nastyJson)}}`,
    dice.pick(nastyJson),
    '{"op":"hello","push_token":"a\\u0000b"}',
    '{"op":"ack","task_ids":["9007199254740993"]}',
  ]
  let payload = Buffer.from(dice.pick(texts))
  if (dice.chance(0.4)) payload = Buffer.from(mutate(dice, payload))
  const opcode = dice.chance(0.8) ? 1 : dice.pick([0, 2, 3, 8, 9, 10, 11])
  const first = (dice.chance(0.95) ? 0x80 : 0) | (dice.chance(0.03) ? 0x40 : 0) | opcode
  const mask = dice.chance(0.95) ? 0x80 : 0
  const claimed = dice.chance(0.03) ? dice.below(70_000) : payload.length
  const length = claimed < 126 ? [mask | claimed] : [mask | 126, (claimed >> 8) & 255, claimed & 255]
  const head = dice.chance(0.02) ? [mask | 127, 255, 255, 255, 255, 255, 255, 255, 255] : length
  const key = randomBytes(4)
  const body = mask ? Buffer.from(payload.map((byte, i) => byte ^ key[i % 4]!)) : payload
  return Buffer.concat([Buffer.from([first, ...head]), mask ? key : Buffer.alloc(0), body])
}

describe('a gateway', () => {
  it(`survives ${CONNECTIONS * FRAMES} frames made with the seed ${SEED}, and still serves its devices`, async () => {
    const dice = createDice(SEED)
    const honest = await connect(gateway.url, device)
    await until(() => harness.isOnline(device))
    const before = process.memoryUsage().rss
    let ended = 0
    const tokens = [
      device.pushToken,
      'unknown',
      ...(await Promise.all([1, 2, 3].map(() => harness.addDevice(app)))).map(({ pushToken }) => pushToken),
    ]
    for (let n = 0; n < CONNECTIONS; n++) {
      const socket = connectTcp(gateway.port, '127.0.0.1')
      socket.on('error', () => {}).on('data', () => {})
      socket.on('close', () => ended++)
      // Never the token of the honest device: another connection may replace it, which is tested elsewhere.
      const token = tokens[1 + dice.below(tokens.length - 1)]!
      socket.write(handshake())
      for (let i = 0; i < FRAMES; i++) socket.write(frameOf(dice, token))
      socket.end()
    }
    await until(() => ended === CONNECTIONS, { what: 'the end of every hostile connection' })
    const task = await harness.notify(app, [device])
    await honest.gets(task)
    honest.ack(task)
    await harness.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
    expect(honest.isClosed()).toBe(false)
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024)
    honest.cut()
  })

  it('refuses a push token that Postgres cannot store, and accepts the others of its group', async () => {
    const others = await Promise.all([1, 2, 3, 4].map(() => harness.addDevice(app)))
    const connections = await Promise.all([1, 2, 3, 4, 5].map(() => dial(gateway.url)))
    // Sent in one turn of the event loop, so that they are looked up together.
    connections[4]!.send({ op: 'hello', push_token: 'a\u0000b' })
    for (const [i, other] of others.entries())
      connections[i]!.send({ op: 'hello', push_token: other.pushToken })
    expect(await connections[4]!.closed()).toMatchObject({ code: 4401 })
    for (const connection of connections.slice(0, 4)) {
      await until(() => connection.frames.length > 0 || connection.isClosed())
      expect(connection.frames[0]).toMatchObject({ op: 'welcome' })
      connection.cut()
    }
  })

  it('refuses a message that is larger than any of the protocol', async () => {
    const connection = await dial(gateway.url)
    connection.send(`{"op":"hello","push_token":"${'x'.repeat(40_000)}"}`)
    expect((await connection.closed()).code).toBe(1009)
  })
})
