import { until } from '@herald/testkit'
import { describeInBrowser } from '@herald/testkit/browser'
import { beforeAll, expect } from '@jest/globals'
import type { Locator, Page, Route } from 'playwright-core'
import { accessibilityProblems, englishTexts, overflows } from './page-checks.ts'
import type { Tab, TestConsole } from './test-console.ts'
import { createWalk, type TaskRow } from './walk.ts'

/** A picture of one pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const PICTURES = 'https://pictures.example'

/** The pages on which something is sent. Each step continues where the previous one ended. */
describeInBrowser('sending in the console', () => {
  let herald: TestConsole
  let tab: Tab
  let page: Page
  const { step, button, dialog, open, hold, count, signIn, endsClean } = createWalk({
    onOpen(opened) {
      herald = opened.herald
      tab = opened.tab
      page = opened.page
    },
  })
  beforeAll(async () => {
    await page.route(`${PICTURES}/**`, (route) =>
      route.request().url().endsWith('/missing.png')
        ? route.fulfill({ status: 404 })
        : route.fulfill({ body: PIXEL, contentType: 'image/png' }),
    )
  })

  const field = (name: string) => page.locator(`#send-${name}`)
  const focused = () => page.evaluate(() => document.activeElement?.id)
  const tasks = async () => (await herald.call<{ list: TaskRow[] }>('/push/task/list', {})).list
  const titled = async (title: string) => (await tasks()).filter((task) => task.title === title)
  const openTask = async (title: string) => {
    await page.getByRole('heading', { name: title }).waitFor()
    expect(await titled(title)).toHaveLength(1)
    return (await titled(title))[0]!
  }
  const paste = (into: Locator, text: string) =>
    into.evaluate((element, pasted) => {
      const clipboardData = new DataTransfer()
      clipboardData.setData('text/plain', pasted)
      element.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
    }, text)
  const review = async () => {
    await button('Review and send').click()
    await dialog().getByText('Speed', { exact: true }).waitFor()
  }

  step('sends nothing by Enter, and goes to what is missing', async () => {
    await open('/send')
    await field('title').fill('Enter')
    for (const name of ['title', 'attachmentUrl', 'url', 'speed', 'campaign']) {
      await field(name).focus()
      await page.keyboard.press('Enter')
    }
    expect(await dialog().count()).toBe(0)
    await button('Review and send').click()
    await page.getByRole('alert').getByText('Please correct:').waitFor()
    await until(async () => (await focused()) === 'send-audience')
    expect(await field('audience').getAttribute('aria-invalid')).toBe('true')
    expect(await dialog().count()).toBe(0)

    // What is folded is opened.
    await field('audience').fill('demo')
    await page.keyboard.press('Enter')
    await button(/^More content/).click()
    await field('ext').fill('{"order": ')
    await field('title').focus()
    expect(await page.getByText('must be a valid JSON object').first().isVisible()).toBe(true)
    await button(/^More content/).click()
    await button('Review and send').click()
    await until(async () => (await focused()) === 'send-ext')
    await field('ext').fill('{"order": 12345678901234567890}')
    expect(await tasks()).toEqual([])
  })

  step('takes a pasted list whole, or refuses it', async () => {
    await field('audience').press('Backspace')
    await paste(field('audience'), Array.from({ length: 600 }, (_, n) => `user-${n}`).join('\n'))
    await page
      .getByRole('alert')
      .getByText('Nothing was added: the pasted list has 600 values, 600 with those above.')
      .waitFor()
    await page.getByText('Entered: 0.').waitFor()
    await paste(field('audience'), 'demo\r\n10001\t10002;demo')
    await page.getByText('Entered: 3.').waitFor()
    expect(await page.getByText('Nothing was added').count()).toBe(0)
    // Another kind of audience has a list of its own.
    await page.getByLabel('Send to').selectOption({ label: 'User IDs' })
    await paste(field('audience'), '10001\n10002')
    await page.getByText('Entered: 2.').waitFor()
    await page.getByLabel('Send to').selectOption({ label: 'Tags' })
    await page.getByText('Entered: 3.').waitFor()
  })

  step(
    'keeps the draft when the page is left or loaded again, and asks before the tab is closed',
    async () => {
      await page.getByRole('link', { name: 'Tasks', exact: true }).click()
      await page.getByRole('heading', { name: 'Tasks', exact: true }).waitFor()
      await page.getByRole('link', { name: 'Send', exact: true }).click()
      expect(await field('title').inputValue()).toBe('Enter')
      const asked = page.waitForEvent('dialog')
      const reloaded = page.reload()
      const question = await asked
      expect(question.type()).toBe('beforeunload')
      await question.accept()
      await reloaded
      await page.getByText('Entered: 3.').waitFor()
      expect(await field('title').inputValue()).toBe('Enter')
      // The session ends.
      await page.context().clearCookies()
      await page.getByRole('link', { name: 'Tasks', exact: true }).click()
      await page.getByText('Your session has expired. Sign in again.').waitFor()
      await signIn()
      expect(tab.failedRequests.splice(0).filter((line) => !line.startsWith('401 '))).toEqual([])
      await page.getByRole('link', { name: 'Send', exact: true }).click()
      expect(await field('title').inputValue()).toBe('Enter')
      await button('Clear draft').click()
      expect(await field('title').inputValue()).toBe('')
      await page.getByText('No audience yet').waitFor()
    },
  )

  step('marks the field that the API refuses', async () => {
    await field('title').fill('Refused')
    await page.getByLabel('Send to').selectOption({ label: 'All devices' })
    await button(/^Platform and vendor settings/).click()
    await button(/^iOS/).click()
    const id = page.getByLabel('Collapse ID', { exact: true })
    await id.fill('x'.repeat(65))
    await button(/^Platform and vendor settings/).click()
    await button('Review and send').click()
    await page.getByRole('alert').getByText('must have at most 64 bytes').waitFor()
    await until(async () => (await focused()) === 'send-platforms-ios-apns_collapse_id')
    expect(tab.failedRequests.splice(0)).toEqual(['400 POST /push/audience/count'])
    expect(await accessibilityProblems(page)).toEqual([])
    // Further checks are made by the form.
    await id.fill('')
    await field('speed').fill('fast')
    await field('beginAt').fill('2020-01-01T09:00')
    await button('Review and send').click()
    const problems = page.getByRole('alert').getByRole('listitem')
    await problems.nth(1).waitFor()
    expect(await problems.allTextContents()).toEqual([
      'Send at: this time is in the past; clear it to send at once',
      'Speed limit (devices per second): must be a whole number from 1 to 1,000,000',
    ])
    await until(async () => (await focused()) === 'send-beginAt')
    await problems.getByRole('button', { name: /^Speed limit/ }).click()
    await until(async () => (await focused()) === 'send-speed')
    await button('Clear draft').click()
  })

  step('keeps a suggested tag that contains a comma, and splits what is typed', async () => {
    const tags = ['city:Shenzhen, Nanshan']
    await herald.call('/admin/device', { device_guid: 'nanshan', platform: 'android', tags }, 'PUT')
    await field('audience').fill('city')
    await page.getByRole('option', { name: /^city:Shenzhen, Nanshan/ }).click()
    await page.getByText('Entered: 1.').waitFor()
    await field('audience').fill('nobody,no one')
    await page.keyboard.press('Enter')
    await page.getByText('Entered: 3.').waitFor()
    // Only the suggested tag has a device.
    await page.locator('[data-audience-size="1"]').waitFor()
    await button('Clear draft').click()
  })

  step('reviews every push: message, audience, size, time with its zone, speed', async () => {
    const { devices, by_channel } = await count({ tag: ['demo'] })
    await button('Insert sample').click()
    await field('title').fill('Walked through')
    await page.setViewportSize({ width: 1024, height: 768 })
    const counting = await hold('/push/audience/count')
    await field('audience').fill('demo')
    await page.keyboard.press('Enter')
    await counting.asked
    const place = () => button('Review and send').boundingBox()
    const before = await place()
    counting.release()
    await page.locator(`[data-audience-size="${devices}"]`).waitFor()
    // A button that moves while it is pressed is not pressed.
    expect(await place()).toEqual(before)
    await page.setViewportSize({ width: 1280, height: 800 })
    await field('speed').fill('2')
    await field('campaign').fill('spring')
    await field('beginAt').fill('2035-06-01T09:00')
    await review()
    await dialog().getByText('Walked through').waitFor()
    await dialog().getByText('Tags (1): demo').waitFor()
    await dialog().getByText(`${devices} devices`, { exact: true }).waitFor()
    await dialog()
      .getByText(new RegExp(`Huawei ${by_channel.huawei}\\b`))
      .waitFor()
    await dialog()
      .getByText(/Jun 1, 2035, 09:00:00 .*(UTC|GMT)/)
      .waitFor()
    await dialog()
      .getByText(/^2 devices per second: about \d+ s$/)
      .waitFor()
    await dialog().getByText('spring').waitFor()
    await until(async () => (await page.evaluate(() => document.activeElement?.textContent)) === 'Back')
    await button(`Schedule for ${devices} devices`, dialog()).waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await page.keyboard.press('Enter')
    await dialog().waitFor({ state: 'detached' })
    expect(await tasks()).toEqual([])
    await field('beginAt').fill('')

    await review()
    await button(`Send to ${devices} devices`, dialog()).click()
    const task = await openTask('Walked through')
    expect(task).toMatchObject({ target: devices, campaign: 'spring' })
    // The draft is gone: a further press cannot send it again.
    await page.getByRole('link', { name: 'Send', exact: true }).click()
    expect(await field('title').inputValue()).toBe('')
  })

  step('asks for the number of a broadcast to be typed', async () => {
    const { devices } = await count('all')
    await field('title').fill('To everyone')
    await page.getByLabel('Send to').selectOption({ label: 'All devices' })
    await review()
    const send = button(`Send to ${devices} devices`, dialog())
    const typed = dialog().getByLabel(`Type ${devices} to confirm`)
    await typed.fill(String(devices + 1))
    expect(await send.isDisabled()).toBe(true)
    await typed.fill(String(devices))
    await typed.press('Enter')
    expect(await titled('To everyone')).toEqual([])
    const sending = await hold('/push/notify')
    await send.click()
    await sending.asked
    // The push may be on its way: the draft must not change now.
    await until(() => button('Back', dialog()).isDisabled(), { what: 'Back is disabled' })
    expect(await button('Close', dialog()).isDisabled()).toBe(true)
    await page.keyboard.press('Escape')
    expect(await dialog().getByText('Sending…').isVisible()).toBe(true)
    sending.release()
    await openTask('To everyone')
  })

  step('never sends twice after a lost answer', async () => {
    await open('/send')
    await field('title').fill('Answer lost')
    await field('audience').fill('demo')
    await page.keyboard.press('Enter')
    let lost = 0
    await page.route('**/push/notify', async (route) => {
      await route.fetch()
      await route.abort()
      lost++
    })
    // Until it is looked up, nobody knows.
    let mayLookUp = false
    await page.route('**/push/task/list', (route) =>
      mayLookUp || !route.request().postData()?.includes('request_id') ? route.continue() : route.abort(),
    )
    await review()
    await button(/^Send to/, dialog()).click()
    await dialog().getByText('No answer: the push may have been accepted').waitFor()
    expect(await titled('Answer lost')).toHaveLength(1)
    // A second press, whose answer is lost too.
    await button('Send again', dialog()).click()
    await until(() => lost === 2, { what: 'the second answer' })
    await dialog().getByText('No answer: the push may have been accepted').waitFor()
    // The same draft after a reload has the same id.
    page.once('dialog', (question) => void question.accept())
    await page.reload()
    await review()
    await button(/^Send to/, dialog()).click()
    await dialog().getByText('No answer: the push may have been accepted').waitFor()
    mayLookUp = true
    await dialog().getByText('The push was accepted').waitFor()
    expect(await button('Send again', dialog()).count()).toBe(0)
    await dialog().getByRole('link', { name: 'View task' }).click()
    await openTask('Answer lost')
    await page.unroute('**/push/notify')
    await page.unroute('**/push/task/list')
    tab.errors.splice(0)
  })

  step('says that a deduplication ID of the author was used before', async () => {
    await open('/send')
    await field('title').fill('Used before')
    await field('audience').fill('demo')
    await page.keyboard.press('Enter')
    await button(/^Routing and delivery/).click()
    const { task_id } = await herald.call<{ task_id: number }>('/push/notify', {
      audience: { alias: ['nobody'] },
      setting: { request_id: 'order-1' },
      message: { title: 'The first' },
    })
    await field('requestId').fill('order-1')
    await review()
    await button(/^Send to/, dialog()).click()
    await dialog().getByText('This deduplication ID was used before, so nothing was sent.').waitFor()
    await dialog()
      .getByRole('link', { name: `Task ${task_id}` })
      .waitFor()
    await button('Back', dialog()).click()
    expect(await titled('Used before')).toEqual([])
    await button('Clear draft').click()
  })

  step('finds a push with a deduplication ID of the author whose answer was lost', async () => {
    /** Sends a draft; the answer to the first press is lost. */
    const sendOnce = async (title: string, requestId: string) => {
      await open('/send')
      await field('title').fill(title)
      await field('audience').fill('demo')
      await page.keyboard.press('Enter')
      await button(/^Routing and delivery/).click()
      await field('requestId').fill(requestId)
      await review()
      const lose = async (route: Route) => {
        await route.fetch()
        await route.abort()
      }
      await page.route('**/push/notify', lose, { times: 1 })
      await button(/^Send to/, dialog()).click()
    }
    await sendOnce('Own id', 'order-2')
    await dialog().getByText('The push was accepted').waitFor()
    await dialog().getByRole('link', { name: 'View task' }).click()
    await openTask('Own id')

    // Without a look-up the answer to the second press tells.
    let asked = 0
    await page.route('**/push/task/list', (route) => {
      if (!route.request().postData()?.includes('request_id')) return route.continue()
      return asked++ === 0 ? route.continue() : route.abort()
    })
    await sendOnce('Sent again', 'order-3')
    await button('Send again', dialog()).click()
    await openTask('Sent again')
    await page.unroute('**/push/task/list')

    // The task of another push is not taken for this one.
    await sendOnce('Used before', 'order-1')
    await dialog().getByText('Herald has no task for it so far.').waitFor()
    await button('Send again', dialog()).click()
    await dialog().getByText('This deduplication ID was used before, so nothing was sent.').waitFor()
    await button('Back', dialog()).click()
    expect(await titled('Used before')).toEqual([])
    await button('Clear draft').click()

    // Nor is it if the tasks of the ID cannot be read at all.
    await page.route('**/push/task/list', (route) =>
      route.request().postData()?.includes('request_id') ? route.abort() : route.continue(),
    )
    await sendOnce('Not looked up', 'order-1')
    await button('Send again', dialog()).click()
    await dialog().getByText('This deduplication ID was used before, so nothing was sent.').waitFor()
    await button('Back', dialog()).click()
    await page.unroute('**/push/task/list')
    expect(await titled('Not looked up')).toEqual([])
    await button('Clear draft').click()
    tab.errors.splice(0)
  })

  step('fills the form with a task, to send it again', async () => {
    const [sent] = await titled('Walked through')
    await open(`/send?from=${sent!.task_id}`)
    await page.getByText(`Filled in from task ${sent!.task_id}`).waitFor()
    expect(await field('title').inputValue()).toBe('Walked through')
    expect(await field('campaign').inputValue()).toBe('spring')
    expect(await field('speed').inputValue()).toBe('2')
    await page.getByText('Entered: 1.').waitFor()
    // A draft is not overwritten without a question.
    await field('title').fill('My own')
    const [other] = await titled('To everyone')
    page.once('dialog', (question) => void question.accept())
    await open(`/send?from=${other!.task_id}`)
    await button('Keep draft').click()
    expect(await field('title').inputValue()).toBe('My own')
    page.once('dialog', (question) => void question.accept())
    await open(`/send?from=${other!.task_id}`)
    await button('Replace draft').click()
    expect(await field('title').inputValue()).toBe('To everyone')
    expect(await page.getByLabel('Send to').inputValue()).toBe('all')
    await button('Clear draft').click()
  })

  step('explains each device of an alias, and that a message would wait in the inbox', async () => {
    const put = (device_guid: string) =>
      herald.call('/admin/device', { device_guid, platform: 'android', alias: 'walter' }, 'PUT')
    await Promise.all([put('walter-1'), put('walter-2')])
    await field('title').fill('Explained')
    await page.getByLabel('Device', { exact: true }).fill('demo-pixel')
    await button('Explain').click()
    await page.getByText('demo-pixel would receive it through FCM.').waitFor()
    await page.getByLabel('Device', { exact: true }).fill('walter')
    await button('Explain').click()
    await page.getByText('2 devices have this alias.').waitFor()
    for (const guid of ['walter-1', 'walter-2'])
      await page.getByText(`${guid} is not connected: the message would wait in its inbox`).waitFor()
    // On a small screen the answer can be scrolled to.
    await page.setViewportSize({ width: 1024, height: 768 })
    await page.getByText('walter-2 is not connected').scrollIntoViewIfNeeded()
    const box = (await page.getByText('walter-2 is not connected').boundingBox())!
    const bar = (await page.locator('.send-bar').boundingBox())!
    expect(box.y + box.height).toBeLessThanOrEqual(bar.y)
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  step('shows what vendors cut, and whether the picture loads, beside a long name', async () => {
    await page.route('**/admin/app/list', async (route) => {
      const response = await route.fetch()
      const answer = (await response.json()) as { data: { name: string }[] }
      for (const application of answer.data) application.name = `Herald${'-demonstration'.repeat(8)}`
      await route.fulfill({ response, json: answer })
    })
    page.once('dialog', (question) => void question.accept())
    await page.reload()
    const preview = page.getByRole('region', { name: 'Preview' })
    await preview
      .getByText(/Herald-demonstration/)
      .first()
      .waitFor()
    for (const figure of await preview.getByRole('figure').all()) {
      const inner = (await figure.boundingBox())!
      const outer = (await preview.boundingBox())!
      expect(inner.x + inner.width).toBeLessThanOrEqual(outer.x + outer.width)
    }
    expect(await overflows(page)).toBe(false)
    await page.unroute('**/admin/app/list')
    await field('title').fill('x'.repeat(60))
    await page
      .getByText('60 characters. Cut by Meizu after 32, vivo after 40, Xiaomi after 49, OPPO after 50.')
      .waitFor()
    await page.getByLabel('Android phone in the preview').selectOption({ label: 'OPPO' })
    const phone = page.getByRole('figure', { name: 'OPPO' })
    await phone.getByText(`${'x'.repeat(49)}…`).waitFor()
    await phone.getByText('OPPO cuts the title here.').waitFor()
    await page.getByText('Image', { exact: true }).click()
    await field('attachmentUrl').fill(`${PICTURES}/missing.png`)
    await page.getByText('This picture cannot be loaded from here.').waitFor()
    await phone.getByText('The picture cannot be loaded').waitFor()
    await field('attachmentUrl').fill(`${PICTURES}/there.png`)
    await page.getByText('This picture: 1×1.').waitFor()
    await phone.getByRole('img', { name: 'Attached image' }).waitFor()
    expect(tab.failedRequests.splice(0)).toEqual(['404 GET /missing.png'])
    expect(tab.errors.splice(0).every((line) => line.startsWith(`The page requested ${PICTURES}/`))).toBe(
      true,
    )
    await page.setViewportSize({ width: 390, height: 844 })
    await until(async () => !(await overflows(page)))
    await page.setViewportSize({ width: 1280, height: 800 })
    await button('Clear draft').click()
  })

  step('stays connected as a test device while a push is written, and shows all of the message', async () => {
    await open('/test-device')
    expect(await button('Send test push').isDisabled()).toBe(true)
    await button('Connect').click()
    await page.getByText('online', { exact: true }).waitFor()
    const guid = await page.getByLabel('Device ID').inputValue()
    await page.getByRole('link', { name: 'Send', exact: true }).click()
    await page.getByText('Pass-through', { exact: true }).click()
    await button(/^More content/).click()
    await field('ext').fill('{"order": 12345678901234567890}')
    // To test devices first: it has no audience yet.
    const before = (await tasks()).length
    await button('Send a test').click()
    await dialog().getByText('None yet.').waitFor()
    expect(await button('Send test', dialog()).isDisabled()).toBe(true)
    await button(`Add this browser’s test device (${guid})`, dialog()).click()
    await dialog().getByRole('checkbox', { name: guid, checked: true }).waitFor()
    const added = dialog().getByLabel('Device ID, alias or token')
    await added.fill('nobody')
    // Enter adds, and does not send.
    await page.keyboard.press('Enter')
    await dialog().getByText('No device found for: nobody').waitFor()
    for (const name of ['demo-pixel', 'demo-iphone']) {
      await added.fill(name)
      await page.keyboard.press('Enter')
      await dialog().getByRole('checkbox', { name, checked: true }).waitFor()
    }
    expect(await tasks()).toHaveLength(before)
    await dialog().getByRole('checkbox', { name: 'demo-iphone' }).uncheck()
    await button('Send test', dialog()).click()
    await dialog().locator(`[data-outcome="${guid}"]`).getByText('received').waitFor()
    await dialog().locator('[data-outcome="demo-pixel"]').getByText('sent', { exact: true }).waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await button('Close', dialog()).last().click()
    await page.getByRole('link', { name: 'Test device', exact: true }).click()
    await page.getByText('online', { exact: true }).waitFor()
    const card = page.locator('article')
    await card.getByText('12345678901234567890').first().waitFor()
    await card.getByText('Everything the device got (JSON)').click()
    await card.getByText('"op": "push"').waitFor()
    await button('Send test push').click()
    await page.getByRole('status').getByText('received').waitFor()
    await card.getByText('Delivered over the native channel.').first().waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await button('Disconnect').click()
    await page.getByText('not connected', { exact: true }).waitFor()
  })

  step('does not become a device of somebody else, but stays its own', async () => {
    await open('/test-device')
    const id = page.getByLabel('Device ID')
    const guid = await id.inputValue()
    const bindings = [{ provider: 'vivo', device_token: '15000000000000000000021' }]
    await herald.call('/admin/device', { device_guid: 'bound', platform: 'android', bindings }, 'PUT')
    // One has an alias only, the other a vendor token only.
    for (const other of ['walter-1', 'bound']) {
      await id.fill(other)
      await button('Connect').click()
      await page.getByText('This device has a user, an alias or vendor tokens').waitFor()
    }
    await herald.call('/admin/device', { device_guid: guid, alias: 'tester' }, 'PUT')
    await id.fill(guid)
    await button('Connect').click()
    await page.getByText('online', { exact: true }).waitFor()
    await button('Disconnect').click()
    await page.getByText('not connected', { exact: true }).waitFor()
  })

  step('has one list of test devices for everybody who sends for the application', async () => {
    const colleague = await herald.openOperatorTab()
    const other = colleague.page.getByRole('dialog')
    await colleague.page.goto(herald.appUrl('/send'))
    await colleague.page.locator('#send-title').fill('Of a colleague')
    await button('Send a test', colleague.page).click()
    // The choice of the first one is their own.
    await other.getByRole('checkbox', { name: 'demo-iphone', checked: true }).waitFor()
    await button('Remove demo-iphone from the test devices', other).click()
    await other.getByRole('checkbox', { name: 'demo-iphone' }).waitFor({ state: 'detached' })
    await other.getByRole('checkbox', { name: 'demo-pixel', checked: true }).waitFor()
    expect(await accessibilityProblems(colleague.page)).toEqual([])
    await colleague.close()
    type Found = { list: { device_guid: string }[] }
    const { list } = await herald.call<Found>('/admin/device/list', { tag: 'herald-test-device' })
    expect(list.map(({ device_guid }) => device_guid)).toContain('demo-pixel')
    expect(list.map(({ device_guid }) => device_guid)).not.toContain('demo-iphone')
  })

  step('shows the outcome of a test push on the page of a device', async () => {
    const messages = await hold('/admin/device/messages')
    await page.goto(herald.appUrl('/device?guid=demo-pixel'))
    await messages.asked
    // The list of messages would move what is below it.
    expect(await button('Send test push').count()).toBe(0)
    messages.release()
    const before = (await tasks()).length
    await page.getByLabel('Title', { exact: true }).press('Enter')
    const place = async () => {
      const panel = await page.getByRole('region', { name: 'Test push' }).boundingBox()
      return (await button('Send test push').boundingBox())!.y - panel!.y
    }
    const shown = await place()
    await button('Send test push').click()
    await page.locator('[data-outcome="demo-pixel"]').getByText('sent', { exact: true }).waitFor()
    expect(await place()).toBe(shown)
    expect(await tasks()).toHaveLength(before + 1)
  })

  step('shows the request as a command', async () => {
    await open('/send')
    await button('Show as curl').click()
    await dialog().getByText(`-H 'app_id: ${herald.demo.app_id}'`).waitFor()
    await dialog()
      .getByText(/"ext":\{"order": 12345678901234567890\}/)
      .waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await button('Close', dialog()).click()
  })

  step('has no English in the Chinese review and refusals, and fits a phone', async () => {
    await button('Clear draft').click()
    await page.evaluate(() => localStorage.setItem('herald.language', 'zh'))
    await page.reload()
    await page.setViewportSize({ width: 390, height: 844 })
    await button('填入示例').click()
    await page.getByLabel('发送对象').selectOption({ label: '全部设备' })
    await field('speed').fill('fast')
    await button('检查并发送').click()
    await page.getByRole('alert').getByText('应为 1 到 1,000,000 之间的整数').waitFor()
    expect([await englishTexts(page), await overflows(page)]).toEqual([[], false])
    await field('speed').fill('1')
    await button(/^平台与厂商设置/).click()
    await button(/^iOS/).click()
    await field('platforms-ios-apns_collapse_id').fill('x'.repeat(65))
    await button('检查并发送').click()
    await page.getByRole('alert').getByText('最多 64 字节').waitFor()
    expect(tab.failedRequests.splice(0)).toEqual(['400 POST /push/audience/count'])
    expect(await englishTexts(page)).toEqual([])
    await field('platforms-ios-apns_collapse_id').fill('')
    await button('检查并发送').click()
    await dialog().getByText('每秒 1 台设备').waitFor()
    await button(/^发送给 \d+ 台设备$/, dialog()).waitFor()
    expect([await englishTexts(page), await overflows(page)]).toEqual([[], false])
    expect(await accessibilityProblems(page)).toEqual([])
    await button('返回', dialog()).click()
    await button('清空草稿').click()
  })

  endsClean()
})
