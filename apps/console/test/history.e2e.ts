import { readFileSync } from 'node:fs'
import { until } from '@herald/testkit'
import { describeInBrowser } from '@herald/testkit/browser'
import { afterAll, beforeAll, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { accessibilityProblems, englishTexts, overflows } from './page-checks.ts'
import type { Tab, TestConsole } from './test-console.ts'
import { createWalk } from './walk.ts'
import { type Sink, startSink } from './webhook-sink.ts'

/** Results of pushes: the walk of a support desk. Each step continues where the previous one ended. */
describeInBrowser('the history in the console', () => {
  let herald: TestConsole
  let tab: Tab
  let page: Page
  let sink: Sink
  /** To a device of vivo and to one without a vendor, which is offline. */
  let waiting: number
  /** To the twelve devices of the demo that have a vendor. */
  let spring: number
  const { step, button, region, open, push, taskNow, setFaults, endsClean } = createWalk({
    settings: { HERALD_WEBHOOK_PRIVATE: 'on' },
    onOpen(opened) {
      herald = opened.herald
      tab = opened.tab
      page = opened.page
    },
  })
  beforeAll(async () => {
    sink = await startSink()
  })
  afterAll(async () => {
    await sink?.close()
  })

  step('says why the devices of a task wait', async () => {
    const put = (device_guid: string, bindings: object[]) =>
      herald.call(
        '/admin/device',
        { device_guid, platform: 'android', alias: 'customer-17', bindings },
        'PUT',
      )
    await put('walked-vivo', [{ provider: 'vivo', device_token: '15000000000000000000017' }])
    await put('walked-native', [])
    await setFaults('vivo', { throttle: 1 })
    waiting = await push({
      audience: { alias: ['customer-17'] },
      setting: { campaign: 'waits' },
      message: { title: 'Parcel on its way', body: 'x' },
    })
    await open(`/tasks/${waiting}`)
    const why = page.getByRole('table', { name: 'Why devices wait' })
    const native = why.getByRole('row', { name: /^Native/ })
    await native.getByText('The device is offline, so the message waits in its inbox').waitFor()
    await native.getByText('Next attempt: when the cause ends').waitFor()
    await native.getByRole('link', { name: 'walked-native' }).waitFor()
    // vivo has refused an attempt and will be asked again.
    const vivo = why.getByRole('row', { name: /^vivo/ })
    await vivo.getByText(/Next attempt: .*\d\d:\d\d/).waitFor()
    await vivo.getByRole('link', { name: 'walked-vivo' }).waitFor()
    expect(await accessibilityProblems(page)).toEqual([])

    await button('Pause').click()
    await vivo.getByText('The task is paused').waitFor()
    await setFaults('vivo', {})
    await button('Resume').click()
    await page.getByText('waiting for devices', { exact: true }).waitFor()
    await page.getByText('Offline devices: 1. The message waits in their inboxes.').waitFor()
    await native.waitFor()
    await vivo.waitFor({ state: 'detached' })
  })

  step('shows whether a push reached a person, and the reason if it did not', async () => {
    const find = region('Find a device or person')
    await find.getByLabel('Search by').selectOption({ label: 'Alias' })
    await find.getByLabel('Search for').fill('customer-17')
    await page.keyboard.press('Enter')
    const vivo = find.getByRole('article').filter({ hasText: 'walked-vivo' })
    await vivo.getByText('sent', { exact: true }).waitFor()
    await vivo.getByText('Received', { exact: true }).waitFor()
    const native = find.getByRole('article').filter({ hasText: 'walked-native' })
    await native.getByText('The device is offline, so the message waits in its inbox').waitFor()
    // The focus stays in the form, for the next search.
    expect(await find.getByLabel('Search for').evaluate((input) => input === document.activeElement)).toBe(
      true,
    )
    expect(page.url()).toContain('by=byAlias&value=customer-17')
    expect(await accessibilityProblems(page)).toEqual([])

    await find.getByLabel('Search by').selectOption({ label: 'Device ID' })
    await find.getByLabel('Search for').fill('demo-huawei')
    await page.keyboard.press('Enter')
    await find.getByText('This device is not a recipient of the task.').waitFor()
    await page.goBack()
    await vivo.waitFor()
    await until(async () => (await find.getByLabel('Search for').inputValue()) === 'customer-17')

    await find.getByLabel('Search for').fill('nobody at all')
    await page.keyboard.press('Enter')
    await find.getByRole('alert').waitFor()
    expect(tab.failedRequests.splice(0)).toEqual(['404 POST /push/task/device'])
  })

  step('shows what was received and clicked, and apart what no channel reports', async () => {
    spring = await push({
      audience: { tag: ['demo'] },
      setting: { campaign: 'spring', distribution_strategy: 'ospush_only' },
      message: { title: 'Spring sale', body: 'x' },
    })
    await until(async () => (await taskNow(spring))?.received === 9)
    const [device] = (
      await herald.call<{ list: { push_token: string }[] }>('/admin/device/list', {
        device_guid: 'demo-huawei',
      })
    ).list
    await herald.call('/push/receipt', {
      push_token: device?.push_token,
      list: [{ task_id: spring, event: 'clicked' }],
    })
    await open(`/tasks/${spring}`)
    const stepOf = (kind: string) => page.locator(`[data-step="${kind}"]`)
    await stepOf('clicked').getByText('1', { exact: true }).waitFor()
    await stepOf('clicked').getByText('11.1% of received').waitFor()
    await stepOf('received').getByText('100% of 9 sent through channels that report').waitFor()
    await stepOf('sent').getByText('100% of target').waitFor()
    await page.getByText(/^Devices not reported: 3\. APNs and FCM /).waitFor()
    await page.locator('tr[data-channel="apns"]').getByText('no receipts', { exact: true }).waitFor()
    await region('Message and audience').getByRole('link', { name: 'spring' }).waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
  })

  step('downloads the results, and says so if a part is missing', async () => {
    const saved = page.waitForEvent('download')
    await button('Download results').click()
    const download = await saved
    expect(download.suggestedFilename()).toBe(`task-${spring}.ndjson`)
    const lines = readFileSync(await download.path(), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const end = lines.pop()
    expect(end).toMatchObject({ lines: lines.length, equal: true })
    expect(lines.filter(({ fate }) => fate === 'sent').length).toBe(12)

    await page.route('**/push/task/export*', (route) =>
      route.fulfill({ contentType: 'application/x-ndjson', body: '{"device_id":1}\n' }),
    )
    const cut = page.waitForEvent('download')
    await button('Download results').click()
    expect((await cut).suggestedFilename()).toBe(`task-${spring}-incomplete.ndjson`)
    await page.getByRole('alert').getByText('The download was cut off').waitFor()
    await page.unroute('**/push/task/export*')
  })

  step('lists the messages of a device, which lead to their tasks', async () => {
    await open('/device?guid=demo-huawei')
    const messages = page.getByRole('table', { name: 'Messages' })
    const row = messages.locator(`tr[data-task="${spring}"]`)
    await row.getByText('sent', { exact: true }).waitFor()
    await row.getByText('Huawei').waitFor()
    await row.getByText('Clicked').waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await row.getByRole('link', { name: 'Spring sale' }).click()
    await region('Find a device or person').getByRole('article').getByText('Clicked').waitFor()

    await open('/device?guid=walked-native')
    await messages
      .locator(`tr[data-task="${waiting}"]`)
      .getByText('The device is offline, so the message waits in its inbox')
      .waitFor()
  })

  step('shows older messages on further pages', async () => {
    const ids: number[] = []
    for (let index = 0; index < 22; index++)
      ids.push(
        await push({
          audience: { alias: ['customer-17'] },
          setting: { campaign: 'many' },
          message: { title: `Message ${index}`, body: 'x' },
        }),
      )
    // The result of a message changes the height of its row.
    for (const id of ids)
      await until(async () => (await taskNow(id))?.received === 1, { what: `receipt of ${id}` })
    await open('/device?guid=walked-vivo')
    const rows = page.getByRole('table', { name: 'Messages' }).locator('tr[data-task]')
    await until(async () => (await rows.count()) === 20)
    await button('Show more').click()
    await until(async () => (await rows.count()) === 23)
    const shown = await rows.evaluateAll((all) => all.map((row) => row.getAttribute('data-task')))
    expect(new Set(shown)).toEqual(new Set([...ids, waiting].map(String)))
    expect(await button('Show more').count()).toBe(0)
  })

  step('adds up a campaign by hour, day and channel', async () => {
    await open('/statistics')
    await page.getByRole('img', { name: /^Bar chart/ }).waitFor()
    const total = (kind: string) => page.locator(`[data-total="${kind}"] .figure`)
    await page.getByLabel('Campaign').fill('spring')
    await button('Filter').click()
    await until(async () => (await total('target').textContent()) === '12')
    const figures = () =>
      Promise.all(['sent', 'received', 'clicked', 'failed'].map((kind) => total(kind).textContent()))
    expect(await figures()).toEqual(['12', '9', '1', '0'])
    await page.getByText('100% of sent, on channels that report').waitFor()
    const channels = page.getByRole('table', { name: 'By channel' })
    await channels.getByRole('row', { name: /^APNs/ }).getByText('no receipts').waitFor()
    // It has one task.
    const periods = page.getByRole('table', { name: 'Numbers' }).locator('tbody tr')
    expect(await periods.count()).toBe(1)

    await page.getByText('7 days').click()
    await page.getByRole('heading', { name: 'By day' }).waitFor()
    await until(async () => (await total('target').textContent()) === '12')
    await page.getByLabel('Channel', { exact: true }).selectOption({ label: 'Huawei' })
    await until(async () => (await total('clicked').textContent()) === '1')
    await until(async () => (await channels.locator('tbody tr').count()) === 1)
    expect(page.url()).toContain('channel=huawei')
    expect(await accessibilityProblems(page)).toEqual([])
    await page.getByLabel('Campaign').fill('autumn')
    await page.keyboard.press('Enter')
    await page.getByText('Nothing was pushed in this period').waitFor()
  })

  step('adds a webhook, shows its secret once and tests it', async () => {
    await open('/webhooks')
    await page.getByText('No webhooks yet').waitFor()
    await button('Add webhook').focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Orders')
    // What was typed is not lost.
    await page.keyboard.press('Escape')
    await dialog.getByLabel('URL').fill('ftp://example.com')
    await dialog.getByLabel('Campaign (optional)').fill('spring')
    await dialog.getByLabel('task.cancelled').uncheck()
    await dialog.getByLabel('device.sent').check()
    expect(await accessibilityProblems(page)).toEqual([])
    await button('Save').click()
    await dialog.getByRole('alert').waitFor()
    expect(tab.failedRequests.splice(0)).toEqual(['400 PUT /admin/webhook'])
    await dialog.getByLabel('URL').fill(sink.url)
    await page.keyboard.press('Enter')
    await dialog.getByText('The signing secret of Orders is shown only once.').waitFor()
    await dialog.getByText(/^whsec_/).waitFor()
    await page.keyboard.press('Escape')
    await dialog.getByRole('button', { name: 'Close' }).click()

    const card = region('Orders')
    await card.getByText('active', { exact: true }).waitFor()
    const place = async () => {
      const test = await card.getByRole('button', { name: 'Test' }).boundingBox()
      return test!.y - (await card.boundingBox())!.y
    }
    const before = await place()
    await card.getByRole('button', { name: 'Test' }).click()
    await card.getByText('The server accepted the test event (HTTP status 204).').waitFor()
    expect(await place()).toBe(before)
    expect(sink.types.splice(0)).toEqual(['webhook.test'])
    sink.answerWith(500)
    await card.getByRole('button', { name: 'Test' }).click()
    await card.getByText('The server answered with HTTP status 500.').waitFor()
    sink.answerWith(204)
    expect(await accessibilityProblems(page)).toEqual([])
  })

  step('shows what a webhook has sent, what waits and what fails', async () => {
    const card = region('Orders')
    const send = () =>
      push({
        audience: { push_token: [walked] },
        setting: { campaign: 'spring', distribution_strategy: 'ospush_only' },
        message: { title: 'Told', body: 'x' },
      })
    const [device] = (
      await herald.call<{ list: { push_token: string }[] }>('/admin/device/list', {
        device_guid: 'walked-vivo',
      })
    ).list
    const walked = device?.push_token
    await send()
    await until(() => sink.types.length === 2, { what: 'the events' })
    expect(sink.types.splice(0).sort()).toEqual(['device.sent', 'task.finished'])
    await card.getByText(/^HTTP 204/).waitFor()

    sink.answerWith(503)
    await send()
    await card.getByText('failing', { exact: true }).waitFor()
    await card.getByText(/^Requests have failed since .* Next try at /).waitFor()
    await card.getByText(/^HTTP 503/).waitFor()
    await card.getByText('Events: 2').waitFor()
    sink.answerWith(410)
    // At the next try; the pauses double while the steps above take their time.
    await card.getByText('suspended', { exact: true }).waitFor()
    await card.getByText(/Nothing is sent until the webhook is saved/).waitFor()
    sink.answerWith(204)

    // Everything once more: the two entries of the first push too.
    await card.getByRole('button', { name: 'Replay' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Events since').waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Replay' }).click()
    await card.getByText('active', { exact: true }).waitFor()
    await until(() => sink.types.length >= 4, { what: 'the replayed events' })
    await card.getByText('Events: 0').waitFor()
  })

  step('edits a webhook, and removes it after a question', async () => {
    const card = region('Orders')
    const dialog = page.getByRole('dialog')
    await card.getByRole('button', { name: 'Edit' }).click()
    await dialog.getByLabel('Name').fill('Shop orders')
    await dialog.getByLabel('Campaign (optional)').fill('')
    await dialog.getByLabel('device.sent').uncheck()
    await dialog.getByRole('button', { name: 'Save' }).click()
    const renamed = region('Shop orders')
    await renamed.waitFor()
    type Webhook = { name: string; events: string[]; campaign: string | null }
    expect(await herald.call<Webhook[]>('/admin/webhook/list')).toMatchObject([
      { name: 'Shop orders', events: ['task.finished'], campaign: null, url: sink.url },
    ])
    // The result of a test is about the URL that was tested.
    const tested = renamed.getByText('The server answered with HTTP status 500.')
    await tested.waitFor()
    await renamed.getByRole('button', { name: 'Edit' }).click()
    await dialog.getByLabel('URL').fill(`${sink.url}/moved`)
    await dialog.getByLabel('Make a new signing secret').check()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText(/^whsec_/).waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await renamed.getByText(`${sink.url}/moved`).waitFor()
    expect(await tested.count()).toBe(0)

    await renamed.getByRole('button', { name: 'Remove' }).click()
    // The focus is on Back: Enter does not remove it.
    await dialog.getByText('Events that are not delivered yet will not be sent to it.').waitFor()
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'hidden' })
    await renamed.getByRole('button', { name: 'Remove' }).click()
    await dialog.getByRole('button', { name: 'Remove webhook' }).click()
    await page.getByText('No webhooks yet').waitFor()
  })

  step('cancels what waits in inboxes', async () => {
    const id = await push({
      audience: { alias: ['customer-17'] },
      setting: { distribution_strategy: 'nativepush_only' },
      message: { title: 'Too late', body: 'x' },
    })
    await open(`/tasks/${id}`)
    await page.getByText('Offline devices: 2. The message waits in their inboxes.').waitFor()
    await button('Cancel task').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel task' }).click()
    await page.getByText('cancelled', { exact: true }).first().waitFor()
    await page.getByText('The task was cancelled').waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await button('Cancel task').count()).toBe(0)
  })

  step('says that a task ended while its cancelling was being confirmed', async () => {
    const id = await push({
      audience: { alias: ['customer-17'] },
      setting: { distribution_strategy: 'nativepush_only' },
      message: { title: 'Cancelled elsewhere', body: 'x' },
    })
    await open(`/tasks/${id}`)
    await page.getByText('Offline devices: 2. The message waits in their inboxes.').waitFor()
    await button('Cancel task').click()
    const confirm = page.getByRole('dialog').getByRole('button', { name: 'Cancel task' })
    await confirm.waitFor()
    await herald.call('/push/task/cancel', { task_id: id })
    await region('Progress').getByText('cancelled', { exact: true }).waitFor()
    await confirm.click()
    await page.getByRole('alert').getByText('Request failed').waitFor()
    expect(tab.failedRequests.splice(0)).toEqual(['409 POST /push/task/cancel'])
  })

  step('shows who did what, by actor, action and time', async () => {
    await open('/audit')
    const rows = page.getByRole('table', { name: 'Audit' }).locator('tbody tr')
    await rows.first().getByText('Task cancelled').waitFor()
    await rows.getByText('Webhook removed').first().waitFor()
    await page.getByLabel('Action').selectOption({ label: 'Task paused' })
    await button('Filter').click()
    await until(async () => (await rows.count()) === 1)
    await rows.getByText('operator').waitFor()
    await rows.getByRole('link', { name: String(waiting) }).waitFor()
    expect(await accessibilityProblems(page)).toEqual([])

    await page.getByLabel('Action').selectOption({ label: 'Push sent' })
    await page.getByLabel('Actor').fill('admin')
    await page.keyboard.press('Enter')
    await until(async () => (await rows.count()) > 20)
    expect(page.url()).toContain('action=push.notify')
    // What is typed while the filter is being applied stays.
    await page.getByLabel('Action').selectOption({ label: 'Task paused' })
    await page.evaluate(() => {
      const [from] = document.querySelectorAll<HTMLInputElement>('input[type="datetime-local"]')
      from!.form!.requestSubmit()
      const { set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')!
      set!.call(from, '2026-01-01T00:00')
      from!.dispatchEvent(new Event('input', { bubbles: true }))
    })
    await until(() => page.url().includes('action=task.pause'))
    await page.getByText('No entries match the filter').waitFor()
    expect(await page.getByLabel('From', { exact: true }).inputValue()).toBe('2026-01-01T00:00')
    await button('Filter').click()
    await until(() => page.url().includes('from='))
    await page.getByLabel('From', { exact: true }).fill('')
    await page.getByLabel('To', { exact: true }).fill('2026-01-01T00:00')
    await button('Filter').click()
    await page.getByText('No entries match the filter').waitFor()
    await page.getByLabel('Application').selectOption({ label: 'All applications' })
    await page.getByText(/^What concerns no application/).waitFor()
    await page.getByLabel('Application').selectOption({ label: 'Herald demo' })
  })

  const checkView = async (where: string) => {
    expect([where, await englishTexts(page)]).toEqual([where, []])
    await page.setViewportSize({ width: 390, height: 844 })
    // Charts follow the width of the window a moment later.
    await until(async () => !(await overflows(page)), { what: `${where} fits a phone` })
    expect([where, await accessibilityProblems(page)]).toEqual([where, []])
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.locator('html[data-mantine-color-scheme="dark"]').waitFor()
    expect([where, 'dark', await accessibilityProblems(page, { only: ['color-contrast'] })]).toEqual([
      where,
      'dark',
      [],
    ])
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize({ width: 1280, height: 800 })
  }

  step('shows all of it in Chinese, in the dark and on a phone', async () => {
    await herald.call(
      '/admin/webhook',
      { name: 'zh', url: sink.url, events: ['task.finished', 'device.sent'], campaign: 'spring' },
      'PUT',
    )
    await button('Account: Operator').click()
    await page.getByRole('menuitem', { name: '中文' }).click()
    await page.getByRole('link', { name: '审计' }).first().waitFor()
    const paths = [
      `/tasks/${waiting}?by=byAlias&value=customer-17`,
      `/tasks/${spring}?by=byGuid&value=demo-huawei`,
      '/device?guid=demo-huawei',
      '/tasks?campaign=spring&state=finished',
      '/statistics?range=7d',
      '/webhooks',
      '/audit',
    ]
    for (const path of paths) {
      await open(path)
      await page.locator('.mantine-Loader-root').first().waitFor({ state: 'detached' })
      await checkView(path)
    }
  })

  step('shows the dialogs of webhooks in the same way', async () => {
    await open('/webhooks')
    for (const name of ['添加 Webhook', '编辑', '重放', '删除']) {
      await page.getByRole('button', { name, exact: true }).first().click()
      await page.getByRole('dialog').waitFor()
      await checkView(`/webhooks: ${name}`)
      await page.getByRole('dialog').getByRole('button', { name: '返回' }).click()
      await page.getByRole('dialog').waitFor({ state: 'hidden' })
    }
  })

  endsClean()
})
