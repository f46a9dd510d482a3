import { describeWith } from '@herald/testkit'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { type Browser, chromium, type Page } from 'playwright-core'
import { openStage, plainMessage, type Stage } from './stage.ts'

describeWith('chromium')('the demo page in a browser', () => {
  let stage: Stage
  let browser: Browser
  beforeAll(async () => {
    stage = await openStage()
    browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
  })
  afterAll(async () => {
    await browser.close()
    await stage.close()
  })
  const online = (page: Page) => page.getByText('online', { exact: true }).waitFor()

  it('is a device: receives a push, acknowledges it, and shows it once over a reload', async () => {
    const app = await stage.addApplication('demo')
    const device = await stage.addDevice(app)
    const gateway = await stage.startGateway()
    const page = await browser.newPage()
    const problems: string[] = []
    page.on('pageerror', (error) => problems.push(error.message))
    page.on('console', (line) => line.type() === 'error' && problems.push(line.text()))
    await page.goto(`http://127.0.0.1:${gateway.port}/native/demo?push_token=${device.pushToken}`)
    await online(page)
    const task = await stage.notify(app, [device], {
      message: { ...plainMessage, title: 'Hello, browser', body: '<b>plain</b>' },
    })
    const card = page.locator(`article[data-task="${task}"]`)
    await card.waitFor()
    expect(await card.locator('h2').textContent()).toBe('Hello, browser')
    // What a message says is shown as text.
    expect(await card.locator('p').textContent()).toBe('<b>plain</b>')
    await stage.becomes(task, { native: { target: 1, sent: 1, received: 1 } })

    await page.reload()
    await online(page)
    const second = await stage.notify(app, [device])
    await page.locator(`article[data-task="${second}"]`).waitFor()
    expect(await page.locator('article').count()).toBe(1)
    expect(problems).toEqual([])
    await page.close()
  })
})
