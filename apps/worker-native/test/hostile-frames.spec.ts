import { randomBytes } from 'node:crypto'
import { connect as connectTcp } from 'node:net'
import { createDice, type Dice, mutate, nastyJson, nastyTexts, until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connect, dial, openStage, type Stage, type TestDevice } from './stage.ts'

const SEED = 20_261_115
const CONNECTIONS = 300
const FRAMES = 20

let stage: Stage
let gateway: Awaited<ReturnType<Stage['startGateway']>>
let app: string
let device: TestDevice

beforeAll(async () => {
  stage = await openStage({ HERALD_GATEWAY_PER_ADDRESS: '0' })
  gateway = await stage.startGateway()
  app = await stage.addApplication('hostile')
  device = await stage.addDevice(app)
})
afterAll(() => stage.close())

/** A client's frame as it may be, or as no library would write it. */
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

const handshake = () =>
  Buffer.from(
    `GET /native HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${randomBytes(16).toString('base64')}\r\nsec-websocket-protocol: herald.v1\r\n\r\n`,
  )

describe('a gateway', () => {
  it(`survives ${CONNECTIONS * FRAMES} frames made with the seed ${SEED}, and serves its devices meanwhile`, async () => {
    const dice = createDice(SEED)
    const honest = await connect(gateway.url, device)
    await until(() => stage.isOnline(device))
    const before = process.memoryUsage().rss
    let ended = 0
    const tokens = [
      device.pushToken,
      'unknown',
      ...(await Promise.all([1, 2, 3].map(() => stage.addDevice(app)))).map(({ pushToken }) => pushToken),
    ]
    for (let n = 0; n < CONNECTIONS; n++) {
      const socket = connectTcp(gateway.port, '127.0.0.1')
      socket.on('error', () => {}).on('data', () => {})
      socket.on('close', () => ended++)
      // Never the honest device's own token: that would be a takeover, which is allowed and another spec's.
      const token = tokens[1 + dice.below(tokens.length - 1)]!
      socket.write(handshake())
      for (let i = 0; i < FRAMES; i++) socket.write(frameOf(dice, token))
      socket.end()
    }
    await until(() => ended === CONNECTIONS, { seconds: 60, what: 'the end of every hostile connection' })
    const task = await stage.notify(app, [device])
    await honest.gets(task, 30)
    honest.ack(task)
    await stage.becomes(task, { native: { target: 1, sent: 1, received: 1 } }, 30)
    expect(honest.isClosed()).toBe(false)
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024)
    honest.cut()
  }, 120_000)

  it('refuses a push token that no database can hold, and greets those who came with it', async () => {
    const others = await Promise.all([1, 2, 3, 4].map(() => stage.addDevice(app)))
    const connections = await Promise.all([1, 2, 3, 4, 5].map(() => dial(gateway.url)))
    // Sent in one turn, so that they are looked up together.
    connections[4]!.send({ op: 'hello', push_token: 'a\u0000b' })
    for (const [i, other] of others.entries())
      connections[i]!.send({ op: 'hello', push_token: other.pushToken })
    expect(await connections[4]!.closed(30)).toMatchObject({ code: 4401 })
    for (const connection of connections.slice(0, 4)) {
      await until(() => connection.frames.length > 0 || connection.isClosed(), { seconds: 30 })
      expect(connection.frames[0]).toMatchObject({ op: 'welcome' })
      connection.cut()
    }
  })

  it('reads no message that is larger than any of ours', async () => {
    const connection = await dial(gateway.url)
    connection.send(`{"op":"hello","push_token":"${'x'.repeat(40_000)}"}`)
    expect((await connection.closed(30)).code).toBe(1009)
  })
})
