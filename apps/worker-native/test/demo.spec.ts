import { describeInBrowser, startBrowser } from '@herald/testkit/browser'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { type Harness, openHarness, plainMessage } from './harness.ts'

describeInBrowser('the demo page in a browser', () => {
  let harness: Harness
  let browser: Browser
  beforeAll(async () => {
    harness = await openHarness()
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await harness.close()
  })
  const online = (page: Page) => page.getByText('online', { exact: true }).waitFor()

  it('receives a push, acknowledges it, and shows it once over a reload', async () => {
    const app = await harness.addApplication('demo')
    const device = await harness.addDevice(app)
    const gateway = await harness.startGateway()
    const page = await browser.newPage()
    page.setDefaultTimeout(60_000)
    const problems: string[] = []
    page.on('pageerror', (error) => problems.push(error.message))
    page.on('console', (line) => line.type() === 'error' && problems.push(line.text()))
    await page.goto(`http://127.0.0.1:${gateway.port}/native/demo?push_token=${device.pushToken}`)
    await online(page)
    const task = await harness.notify(app, [device], {
      message: { ...plainMessage, title: 'Hello, browser', body: '<b>plain</b>' },
    })
    const card = page.locator(`article[data-task="${task}"]`)
    await card.waitFor()
    expect(await card.locator('h2').textContent()).toBe('Hello, browser')
    // The content of a message is shown as text.
    expect(await card.locator('p').textContent()).toBe('<b>plain</b>')
    await harness.becomes(task, { native: { target: 1, sent: 1, received: 1 } })

    await page.reload()
    await online(page)
    const second = await harness.notify(app, [device])
    await page.locator(`article[data-task="${second}"]`).waitFor()
    expect(await page.locator('article').count()).toBe(1)
    expect(problems).toEqual([])
    await page.close()
  })

  it('replaces the message with the same collapse key, and links to its address', async () => {
    const app = await harness.addApplication('demo keys')
    const device = await harness.addDevice(app)
    const gateway = await harness.startGateway()
    const page = await browser.newPage()
    page.setDefaultTimeout(60_000)
    await page.goto(`http://127.0.0.1:${gateway.port}/native/demo?push_token=${device.pushToken}`)
    await online(page)
    const show = async (fields: Partial<typeof plainMessage>) => {
      const task = await harness.notify(app, [device], { message: { ...plainMessage, ...fields } })
      const card = page.locator(`article[data-task="${task}"]`)
      await card.waitFor()
      return card
    }
    const first = await show({ collapseKey: 'order-7', url: 'https://shop.example.com/7' })
    expect(await first.locator('a').getAttribute('href')).toBe('https://shop.example.com/7')
    await show({ collapseKey: 'order-8', url: 'myapp://orders/8' })
    expect(await page.locator('article').count()).toBe(2)
    await show({ collapseKey: 'order-7' })
    expect(await page.locator('article').count()).toBe(2)
    expect(await first.count()).toBe(0)
    expect(await page.locator('article a').count()).toBe(0)
    await page.close()
  })
})
