import { expect, it } from '@jest/globals'
import { createRegistry } from '../src/registry.ts'

const figureOf = (text: string, name: string) =>
  Number(new RegExp(`^${name}\\{.*\\} (.*)$`, 'm').exec(text)?.[1])

it('measures memory and the event loop from the first scrape on', async () => {
  const registry = createRegistry('test')
  expect(registry.getMetricsAsArray()).toEqual([])
  const [first, second] = await Promise.all([registry.metrics(), registry.metrics()])
  for (const text of [first, second, await registry.metrics()]) {
    expect(figureOf(text, 'nodejs_heap_size_used_bytes')).toBeGreaterThan(0)
    expect(text).toContain('nodejs_eventloop_lag_p99_seconds{program="test"}')
  }
})
