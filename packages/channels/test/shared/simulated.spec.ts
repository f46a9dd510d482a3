import { createServer } from 'node:http'
import { startApnsSimulator } from '@herald/simulators/apns'
import { startMeizuSimulator } from '@herald/simulators/meizu'
import { listen } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Card, cards } from '../../src/cards.ts'
import type { VendorUrls } from '../../src/channel.ts'
import { isSimulated } from '../../src/shared/simulated.ts'

const vendorsOwn = Object.fromEntries(
  cards.flatMap(({ addresses }: Card) => Object.entries(addresses).map(([name, { url }]) => [name, url])),
) as VendorUrls

describe('a simulator', () => {
  let apns: Awaited<ReturnType<typeof startApnsSimulator>>
  let meizu: Awaited<ReturnType<typeof startMeizuSimulator>>
  beforeAll(async () => {
    apns = await startApnsSimulator()
    meizu = await startMeizuSimulator()
  })
  afterAll(async () => {
    await apns.close()
    await meizu.close()
  })

  it('is recognised over TLS, for the environment whose address it serves', async () => {
    const deps = { urls: { ...vendorsOwn, apns: apns.url }, ca: apns.ca }
    const ask = (environment: 'production' | 'development') =>
      isSimulated({ channel: 'apns', environment }, deps)
    expect(await ask('production')).toBe(true)
    // Not asked: the sandbox has its own address.
    expect(await ask('development')).toBe(false)
    expect(apns.requests()).toBe(0)
  })

  it('is recognised for the region whose address it serves', async () => {
    const deps = { urls: { ...vendorsOwn, meizuIntl: `${meizu.url}/` } }
    const ask = (region?: string) =>
      isSimulated({ channel: 'meizu', environment: 'production', region }, deps)
    expect([await ask('intl'), await ask('cn'), await ask()]).toEqual([true, false, false])
  })

  it('is not what answers otherwise, or not at all', async () => {
    const paths: string[] = []
    const other = createServer((request, response) => {
      paths.push(request.url!)
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>welcome</html>')
    })
    const url = `http://127.0.0.1:${await listen(other)}`
    const ask = (meizu: string) =>
      isSimulated({ channel: 'meizu', environment: 'production' }, { urls: { ...vendorsOwn, meizu } })
    expect(await ask(url)).toBe(false)
    expect(paths).toEqual(['/_sim/requests'])
    other.close()
    expect(await ask('http://127.0.0.1:1')).toBe(false)
  })
})
