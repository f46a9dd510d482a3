import { type Receiver, startReceiver } from '@herald/testkit/receiver'
import { afterEach, describe, expect, it } from '@jest/globals'
import { openReceiptPoster, type ReceiptPoster } from '../src/frame/receipts.ts'

let poster: ReceiptPoster<number>
let receiver: Receiver | undefined
afterEach(async () => {
  await poster.close()
  await receiver?.close()
  receiver = undefined
})

const write = (items: number[]) => [{ headers: { 'x-own': 'v' }, body: JSON.stringify(items) }]
const bodies = (path: string) =>
  receiver!.posts.filter((post) => post.path === path).map((post) => JSON.parse(post.body.toString()))

describe('receipts of the simulators', () => {
  it('are posted together, one post per URL', async () => {
    receiver = await startReceiver()
    poster = openReceiptPoster({ write })
    poster.push(`${receiver.url}/a`, 1)
    poster.push(`${receiver.url}/b?x=1`, 2)
    poster.push(`${receiver.url}/a`, 3)
    await receiver.until((posts) => posts.length === 2)
    expect(bodies('/a')).toEqual([[1, 3]])
    expect(bodies('/b?x=1')).toEqual([[2]])
    expect(receiver.posts[0]!.headers['x-own']).toBe('v')
  })

  it('are posted immediately when a post is full', async () => {
    receiver = await startReceiver()
    poster = openReceiptPoster({ write, max: 2, delayMs: 60_000 })
    for (let i = 0; i < 5; i++) poster.push(`${receiver.url}/a`, i)
    await receiver.until((posts) => posts.length === 2)
    expect(bodies('/a').sort()).toEqual([
      [0, 1],
      [2, 3],
    ])
    await poster.drained()
    expect(bodies('/a')).toContainEqual([4])
  })

  it('are lost, not repeated, without a listener', async () => {
    poster = openReceiptPoster({ write, delayMs: 60_000 })
    poster.push('http://127.0.0.1:9/a', 1)
    poster.push('not a url', 1)
    await poster.drained()
    receiver = await startReceiver()
    poster.push(`${receiver.url}/a`, 2)
    await poster.drained()
    expect(bodies('/a')).toEqual([[2]])
  })

  it('are dropped when the simulator closes', async () => {
    receiver = await startReceiver()
    poster = openReceiptPoster({ write, delayMs: 60_000 })
    poster.push(`${receiver.url}/a`, 1)
    await poster.close()
    poster.push(`${receiver.url}/a`, 2)
    await poster.drained()
    expect(receiver.posts).toHaveLength(0)
  })
})
