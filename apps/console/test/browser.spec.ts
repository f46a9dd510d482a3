import { generateKeyPairSync } from 'node:crypto'
import { describeWith, until } from '@herald/testkit'
import { afterAll, beforeAll, expect, jest } from '@jest/globals'
import type { Page } from 'playwright-core'
import { accessibilityProblems, englishTexts, overflows } from './page-checks.ts'
import { createSteps } from './steps.ts'
import { startTestConsole, type Tab, type TestConsole } from './test-console.ts'

jest.setTimeout(180_000)

type TaskRow = { task_id: number; state: string; sent: number }
type Counters = Record<string, number>

/** Each step continues where the previous one ended. */
describeWith('chromium')('the console in a browser', () => {
  let herald: TestConsole
  let tab: Tab
  let page: Page
  let taskId: number
  beforeAll(async () => {
    herald = await startTestConsole()
    tab = await herald.openTab()
    page = tab.page
  })
  afterAll(async () => {
    await herald?.close()
  })

  const step = createSteps()
  const button = (name: string | RegExp) =>
    page.getByRole('button', { name, exact: typeof name === 'string' })
  const open = async (path: string) => {
    await page.goto(herald.url(path))
    await page.locator('h1').waitFor()
  }
  const taskNow = async () => {
    const { list } = await herald.call<{ list: TaskRow[] }>('/push/task/list', { limit: 50 })
    return list.find(({ task_id }) => task_id === taskId)
  }
  const setFaults = (faults: object) =>
    fetch(`${herald.demo.simulators.vivo}/_sim/faults`, { method: 'POST', body: JSON.stringify(faults) })
  const countersNow = async (id: number) =>
    (await herald.call<Counters[]>('/push/task/detail', { list: [id] }))[0] ?? {}

  step('loads less than 500 KB up to the overview', async () => {
    const network = await page.context().newCDPSession(page)
    await network.send('Network.enable')
    let bytes = 0
    network.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    await page.goto(herald.url('/'))
    await page.getByRole('heading', { name: 'Sign in to Herald' }).waitFor()
    expect(tab.failedRequests).toEqual([])

    await page.getByText('Operator', { exact: true }).click()
    await page.getByLabel('Operator key').fill('not the key')
    await button('Sign in').click()
    await page.getByRole('alert').getByText('The sign-in failed: the operator_key is wrong.').waitFor()
    expect(tab.failedRequests.splice(0)).toEqual(['401 POST /console/session'])

    await page.getByLabel('Operator key').fill(herald.demo.operator_key)
    await button('Sign in').click()
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
    await page.getByText('Simulated huawei').waitFor()
    expect(bytes).toBeGreaterThan(50_000)
    expect(bytes).toBeLessThan(500_000)
    await network.detach()
    // Nothing was sent yet, so the chart of the send rate stays empty.
    await page.getByText('Nothing sent in the last few minutes.').waitFor()
  })

  step('offers to skip the menu at the first Tab', async () => {
    await open('/')
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content')
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('content')
  })

  step('explains why a certificate is invalid, and reads a valid one from a file', async () => {
    await open('/certificates')
    await button('Add or replace certificate').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Vendor').selectOption({ label: 'FCM' })
    await dialog.getByLabel('Service account (JSON)').fill('{"type":"service_account"')
    await button('Save').click()
    await dialog
      .getByRole('alert')
      .getByText(
        'certificate is not valid JSON: paste the complete service-account file from the Firebase console.',
      )
      .waitFor()
    expect(tab.failedRequests.splice(0)).toEqual(['400 PUT /admin/push/certificate'])

    await dialog.getByLabel('Vendor').selectOption({ label: 'APNs: Signing key (.p8)' })
    await dialog.getByLabel('Environment').selectOption({ label: 'development' })
    await dialog.getByLabel('Name', { exact: true }).fill('Walked')
    await dialog.getByLabel('Bundle ID', { exact: true }).fill('com.example.walked')
    await dialog.getByLabel('Key ID').fill('ABCDE12345')
    await dialog.getByLabel('Team ID').fill('FGHIJ67890')
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const chooser = page.waitForEvent('filechooser')
    await dialog.getByLabel('Read from file').click()
    await (await chooser).setFiles({ name: 'AuthKey.p8', mimeType: 'text/plain', buffer: Buffer.from(key) })
    await until(async () => (await dialog.getByLabel('Signing key (.p8)').inputValue()) === key)
    await button('Save').click()
    await page.getByRole('region', { name: 'APNs, development' }).getByText('Walked · development').waitFor()

    const huawei = page.getByRole('region', { name: 'Huawei, production' })
    await huawei.getByRole('button', { name: 'Check' }).click()
    await huawei.getByText('Huawei accepts this certificate.').waitFor()
  })

  step('sends to a tag after explaining the route of one device', async () => {
    await open('/send')
    await page.getByLabel('Title', { exact: true }).fill('Walked through')
    await page.getByRole('textbox', { name: 'Text', exact: true }).fill('A push from the console')
    await page.getByRole('figure').getByText('A push from the console').first().waitFor()
    await page.getByLabel('Extension fields (JSON)').fill('{"order": 1024}')

    await page.getByLabel('Send to').selectOption({ label: 'All devices' })
    await button('Send').click()
    await page.getByRole('dialog').getByText('Herald demo').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Back' }).click()

    await page.getByLabel('Send to').selectOption({ label: 'Tags' })
    await button('Send').click()
    await page.getByText('Enter at least one value.').waitFor()
    await page.getByRole('combobox', { name: 'Match any of' }).fill('demo')
    await page.keyboard.press('Enter')
    await page.getByLabel('Strategy').selectOption({ label: 'Vendor channels only' })
    await page.getByLabel('Speed limit (devices per second)').fill('500')

    await page.getByLabel('Device', { exact: true }).fill('demo-pixel')
    await button('Explain').click()
    await page.getByText('demo-pixel would receive it through FCM.').waitFor()

    // One vendor accepts nothing yet, so that the task is still sending when it is paused.
    await setFaults({ throttle: 1 })
    const before = await herald.call<{ list: TaskRow[] }>('/push/task/list', {})
    await button('Send').click()
    const accepted = await page.getByText(/^Task \d+ accepted\./).textContent()
    taskId = Number(/Task (\d+)/.exec(accepted ?? '')?.[1])
    expect(before.list.map(({ task_id }) => task_id)).not.toContain(taskId)
    await page.getByRole('link', { name: 'View task' }).click()
    await page.getByRole('heading', { name: 'Walked through' }).waitFor()
  })

  step('pauses and resumes it, and shows the counters of the API', async () => {
    await button('Pause').click()
    await page.getByText('paused').first().waitFor()
    expect((await taskNow())?.state).toBe('paused')
    await setFaults({})
    await button('Resume').click()
    await button('Pause').waitFor()
    await page.getByText('finished', { exact: true }).waitFor()

    const received = page.locator('[data-step="received"]')
    const receivedOf = (counters: Counters) =>
      Object.entries(counters).reduce(
        (sum, [name, count]) => sum + (name.endsWith('_received') ? count : 0),
        0,
      )
    // Six vendors send receipts, for nine of the twelve devices.
    await until(async () => receivedOf(await countersNow(taskId)) === 9, { seconds: 60 })
    await received.getByText('100% of 9 sent through channels that report').waitFor({ timeout: 60_000 })
    await page.getByText(/^Not reported: 3 devices\. APNs and FCM /).waitFor()
    const figures = await page.locator('[data-step] .figure').allTextContents()
    expect(figures).toEqual(['12', '12', '9', '0'])
    const huawei = await countersNow(taskId)
    expect((await page.locator('tr[data-channel="huawei"] td').allTextContents()).slice(0, 3)).toEqual([
      String(huawei.huawei_target),
      String(huawei.huawei_sent),
      String(huawei.huawei_received),
    ])
    await page.getByText('No failures').waitFor()
    await page.locator('.recharts-bar-rectangle').first().waitFor()
    await page.getByRole('link', { name: 'All tasks' }).click()
    await page.getByRole('link', { name: 'Walked through' }).waitFor()
  })

  step('shows what a vendor refuses, and that a simulator answered the check', async () => {
    const setFaults = (channel: string, faults: object) =>
      fetch(`${herald.demo.simulators[channel]}/_sim/faults`, {
        method: 'POST',
        body: JSON.stringify(faults),
      })
    await setFaults('oppo', { rules: ['category_required'] })
    const setting = {
      distribution_strategy: 'ospush_only',
      message_class: 'service',
      ospush_sequence: ['oppo'],
    }
    await herald.call('/push/notify', { audience: 'all', setting, message: { title: 'Refused', body: 'x' } })
    const certificates = () =>
      herald.call<{ channel: string; holds: unknown[] }[]>('/admin/push/certificate/list')
    await until(
      async () => (await certificates()).some(({ channel, holds }) => channel === 'oppo' && holds.length > 0),
      { seconds: 60, what: 'the hold' },
    )
    await open('/certificates')
    const oppo = page.getByRole('region', { name: 'OPPO, production' })
    await oppo.getByText('part refused', { exact: true }).waitFor()
    await oppo.getByText(/^class service: 67 /).waitFor()
    await oppo.getByText(/^Such messages are not sent until .*; all others are\.$/).waitFor()
    await oppo.getByText(/^extra\.classes\.service\.category is not set/).waitFor()
    // The panel says it in the reader's language.
    expect(await oppo.getByText(/^OPPO has refused messages/).count()).toBe(0)

    await setFaults('honor', { refuseAuth: true })
    const honor = page.getByRole('region', { name: 'Honor, production' })
    await honor.getByRole('button', { name: 'Check now' }).click()
    await honor.getByText('Honor rejects this certificate.').waitFor()
    await honor.getByText('Answered by a simulator, not by the vendor.').waitFor()
    await honor.getByText(/^Check failed at /).waitFor()
    await honor.getByText('sending', { exact: true }).waitFor()
    await setFaults('honor', {})
    expect(await accessibilityProblems(page)).toEqual([])

    await open('/')
    await page.getByText('Refused parts: class service').waitFor()

    await setFaults('oppo', {})
    await open('/certificates')
    await oppo.getByRole('button', { name: 'Check now' }).click()
    await oppo.getByText('sending', { exact: true }).waitFor()
    expect(await oppo.getByText(/^class service/).count()).toBe(0)
  })

  step('shows why a push failed, and for which device', async () => {
    type Found = { list: { push_token: string; bindings: { device_token: string }[] }[] }
    const [device] = (await herald.call<Found>('/admin/device/list', { device_guid: 'demo-oppo' })).list
    const tokens = device?.bindings.map(({ device_token }) => device_token)
    await fetch(`${herald.demo.simulators.oppo}/_sim/dead`, {
      method: 'POST',
      body: JSON.stringify({ tokens }),
    })
    const { task_id } = await herald.call<TaskRow>('/push/notify', {
      audience: { push_token: [device?.push_token] },
      setting: { distribution_strategy: 'ospush_only' },
      message: { title: 'To a dead token' },
    })
    await open(`/tasks/${task_id}`)
    const failures = page.getByRole('table', { name: 'Failures by reason' })
    await failures.getByRole('cell', { name: 'failed' }).waitFor()
    await failures.getByRole('link', { name: 'demo-oppo' }).waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
  })

  step('shows the send rate', async () => {
    await page.getByRole('link', { name: 'Overview', exact: true }).click()
    await page.getByText('Collecting data.').waitFor()
    await herald.call('/push/notify', { audience: { tag: ['demo'] }, message: { title: 'Moves the chart' } })
    await page.getByRole('img', { name: /^Chart of devices per second/ }).waitFor()
  })

  step('recalls it after showing what each channel can do', async () => {
    await open(`/tasks/${taskId}`)
    await button('Recall').click()
    const dialog = page.getByRole('dialog')
    const row = (channel: string) => dialog.locator(`tr[data-channel="${channel}"]`)
    await row('xiaomi').getByText('withdrawn').waitFor()
    await row('apns').getByText('stays').waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await dialog.getByLabel('Withdraw it').focus()
    await page.keyboard.press('ArrowDown')
    await row('apns').getByText('replaced').waitFor()
    expect(await dialog.getByRole('button', { name: 'Recall push' }).isDisabled()).toBe(true)
    await dialog.getByLabel('New title').fill('Corrected')
    await dialog.getByRole('button', { name: 'Recall push' }).click()
    // The token of demo-oppo is dead since the push above.
    await page.getByText(/^Recall \d+: 11 of 12 devices\./).waitFor({ timeout: 60_000 })
    await page.getByRole('link', { name: 'View recall' }).click()
    await page.getByRole('heading', { name: 'Corrected' }).waitFor()
  })

  step('connects as a test device, receives a push and acknowledges it', async () => {
    await open('/be-a-device')
    expect(page.url()).toBe(herald.url('/test-device'))
    await page.getByText('Connect, then send a push to this device.').waitFor()
    await button('Connect').click()
    await page.getByText('online', { exact: true }).waitFor()
    await button('Send test push').click()
    const card = page.locator('article')
    await card.getByText('Delivered over the native channel.').waitFor()
    const id = Number(await card.getAttribute('data-task'))
    await until(async () => (await countersNow(id)).nativepush_received === 1, { seconds: 60 })
    expect(await accessibilityProblems(page)).toEqual([])
    await button('Disconnect').click()
    await page.getByText('not connected', { exact: true }).waitFor()
  })

  step('finds devices, changes their tags and sends a test push', async () => {
    await open('/devices')
    await page.getByLabel('Search by').selectOption({ label: 'Tag' })
    await page.getByLabel('Search for').fill('vip')
    await button('Search').click()
    await page.getByRole('link', { name: 'demo-huawei' }).waitFor()
    await until(async () => (await page.getByRole('row').count()) === 3)
    await page.getByRole('link', { name: 'demo-iphone' }).click()
    await page.getByRole('heading', { name: 'demo-iphone' }).waitFor()
    await page.getByRole('combobox', { name: 'Tags' }).fill('walked')
    await page.keyboard.press('Enter')
    await button('Save').click()
    const tagged = () => herald.call<{ list: { tags: string[] }[] }>('/admin/device/list', { tag: 'walked' })
    await until(async () => (await tagged()).list.length === 1)
    expect((await tagged()).list[0]?.tags).toEqual(['demo', 'ios', 'vip', 'walked'])

    await button('Explain').click()
    await page.getByText('demo-iphone would receive it through APNs.').waitFor()
    await button('Send test push').click()
    await page.getByText(/^Task \d+ accepted/).waitFor()
  })

  type Device = {
    alias: string | null
    tags: string[]
    locale: string | null
    timezone: string | null
    app_version: string | null
    attributes: Record<string, unknown> | null
    enabled: boolean
    bindings: { channel: string }[]
  }
  const deviceNow = async (guid: string) =>
    (await herald.call<{ list: Device[] }>('/admin/device/list', { device_guid: guid })).list[0]

  step('edits every field of a device without a user', async () => {
    const guid = 'walked-without-user'
    await herald.call('/admin/device', { device_guid: guid, platform: 'android', alias: 'old' }, 'PUT')
    await open(`/device?guid=${guid}`)
    await page.getByLabel('Alias', { exact: true }).fill('customer-17')
    await page.getByRole('combobox', { name: 'Tags' }).fill('vip')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Language' }).fill('zh-CN')
    await page.getByLabel('Time zone').fill('Asia/Shanghai')
    await page.getByLabel('App version').fill('2.4.1')
    await page.getByLabel('Attributes (JSON)').fill('{"level": 3')
    await page.getByText('Enter a valid JSON object.').waitFor()
    expect(await button('Save').isDisabled()).toBe(true)
    await page.getByLabel('Attributes (JSON)').fill('{"level": 3}')
    await page.getByLabel('Receives pushes').uncheck()
    await button('Save').click()
    await page.getByText('Saved.').waitFor()
    await page.getByText('disabled', { exact: true }).waitFor()
    expect(await deviceNow(guid)).toMatchObject({
      alias: 'customer-17',
      tags: ['vip'],
      locale: 'zh-CN',
      timezone: 'Asia/Shanghai',
      app_version: '2.4.1',
      attributes: { level: 3 },
      enabled: false,
    })

    await page.getByText('Add or replace a vendor token').click()
    await page.getByLabel('Channel', { exact: true }).selectOption({ label: 'vivo' })
    await page.getByLabel('Vendor token', { exact: true }).fill('not a token')
    await button('Bind token').click()
    await page
      .getByRole('alert')
      .getByText(/device_token/)
      .waitFor()
    expect(tab.failedRequests.splice(0)).toEqual(['400 PUT /admin/device'])
    await page.getByLabel('Vendor token', { exact: true }).fill('15000000000000000000001')
    await button('Bind token').click()
    await button('Unbind').waitFor()
    expect((await deviceNow(guid))?.bindings).toMatchObject([{ channel: 'vivo' }])
    await button('Unbind').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Unbind' }).click()
    await page.getByText('No vendor token.').waitFor()
    expect((await deviceNow(guid))?.bindings).toEqual([])

    // Cleared fields become null.
    await page.getByLabel('Alias', { exact: true }).fill('')
    await page.getByLabel('Attributes (JSON)').fill('')
    await page.getByLabel('Receives pushes').check()
    await button('Save').click()
    await page.getByText('Saved.').waitFor()
    expect(await deviceNow(guid)).toMatchObject({
      alias: null,
      attributes: null,
      enabled: true,
      tags: ['vip'],
    })
  })

  step('removes a device, and erases a person when the name is typed', async () => {
    const put = (device_guid: string, alias: string) =>
      herald.call('/admin/device', { device_guid, platform: 'android', alias }, 'PUT')
    await Promise.all([put('erased-1', 'customer-18'), put('erased-2', 'customer-18'), put('gone', 'other')])
    await open('/device?guid=gone')
    await button('Remove device').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove device' }).click()
    await page.getByRole('heading', { name: 'Devices', exact: true }).waitFor()
    expect(await deviceNow('gone')).toBeUndefined()

    await open('/device?guid=erased-1')
    await button('Erase person (alias)').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Type customer-18 to confirm').fill('customer-17')
    await dialog.getByRole('button', { name: 'Erase', exact: true }).click()
    await dialog.getByText('This is not the name above.').waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    expect(await deviceNow('erased-2')).toBeDefined()
    await dialog.getByLabel('Type customer-18 to confirm').fill('customer-18')
    await dialog.getByRole('button', { name: 'Erase', exact: true }).click()
    await page.getByRole('heading', { name: 'Devices', exact: true }).waitFor()
    expect([await deviceNow('erased-1'), await deviceNow('erased-2')]).toEqual([undefined, undefined])
  })

  step('changes settings of the application, and how its users sign in', async () => {
    await open('/settings')
    await page.getByLabel('Default strategy').selectOption({ label: 'Vendor channels only' })
    await page.getByLabel('Default time to live (seconds)').fill('3600')
    await button('Save').first().click()
    await page.getByText('Saved.').waitFor()
    const settings = () => herald.call<Record<string, unknown>>('/admin/app/settings')
    expect(await settings()).toMatchObject({
      default_strategy: 'ospush_only',
      default_ttl: 3600,
      register: true,
    })
    await page.getByLabel('Default strategy').selectOption({ label: 'Native channel first, then vendors' })
    await page.getByLabel('Default time to live (seconds)').fill('')
    await button('Save').first().click()
    await until(async () => (await settings()).default_ttl === 86_400)
    expect(await settings()).toMatchObject({ default_strategy: 'combined' })

    await page.getByLabel('Issuer (iss)').fill('https://id.example.com')
    await page.getByLabel('Audience (aud)').fill('shop')
    await page.getByLabel('Public keys').selectOption({ label: 'One key (PEM)' })
    const pem = page.getByRole('textbox', { name: 'Public key (PEM)' })
    await pem.fill('nonsense')
    await button('Save').last().click()
    await page
      .getByRole('alert')
      .getByText(/^public_key /)
      .waitFor()
    expect(tab.failedRequests.splice(0)).toEqual(['400 PUT /admin/identity'])
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    await pem.fill(publicKey.export({ type: 'spki', format: 'pem' }).toString())
    await button('Save').last().click()
    await page.getByText('in use', { exact: true }).waitFor()
    expect(await herald.call('/admin/identity')).toMatchObject({
      issuer: 'https://id.example.com',
      audience: 'shop',
      user_claim: 'sub',
    })
    await button('Remove sign-in').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove sign-in' }).click()
    await page.getByText('not set', { exact: true }).waitFor()
  })

  step('shows the operator the queues', async () => {
    await page.goto(`${herald.demo.base_url}/queues`)
    await page.getByText('push-huawei').first().waitFor()
    await page.getByText('push-apns').first().waitFor()
  })

  step('creates an application, shows its secret once, and switches to it', async () => {
    await open('/applications')
    await page.getByLabel('Name', { exact: true }).fill('Second application')
    await button('Create').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('The secret of Second application is shown only once.').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    const row = page.getByRole('row', { name: /Second application/ })
    await row.getByRole('button', { name: 'Rotate secret' }).click()
    await dialog.getByLabel('Old secret stays valid for').selectOption({ label: '6 h' })
    await dialog.getByRole('button', { name: 'Rotate secret' }).click()
    await dialog.getByText('The secret of Second application is shown only once.').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await row.getByRole('button', { name: 'Switch to' }).click()
    await page.getByRole('link', { name: 'Tasks', exact: true }).click()
    await page.getByText('No tasks yet').waitFor()
    await page.getByLabel('Application').selectOption({ label: 'All applications' })
    await page.getByText('This page shows one application at a time.').waitFor()
    await page.getByLabel('Application').selectOption({ label: 'Herald demo' })
    await page.getByRole('link', { name: 'Walked through' }).waitFor()
  })

  /** Opens every page of the menu, and a task and a device from their lists. */
  async function visitPages(check: (where: string) => Promise<void>): Promise<void> {
    const links = page.getByRole('navigation').locator('a[href^="/console"]')
    const paths = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''))
    expect(paths.length).toBe(11)
    const heading = page.locator('h1')
    const follow = async (path: string) => {
      const previous = path === paths[0] ? '' : await heading.textContent()
      await page.locator(`a[href="${path}"]`).first().click()
      await until(async () => (await heading.textContent()) !== previous, { seconds: 60, what: path })
      await page.locator('.mantine-Loader-root').waitFor({ state: 'detached' })
      await check(path)
    }
    for (const path of paths) {
      await follow(path)
      if (path.endsWith('/tasks')) await follow(`/console/tasks/${taskId}`)
      if (path.endsWith('/devices')) await follow('/console/device?guid=demo-several')
    }
  }

  step('has no serious accessibility problems on any page, light or dark', async () => {
    await open('/')
    await visitPages(async (path) => {
      expect([path, await accessibilityProblems(page)]).toEqual([path, []])
      // Only colours change with the colour scheme.
      await page.emulateMedia({ colorScheme: 'dark' })
      await page.locator('html[data-mantine-color-scheme="dark"]').waitFor()
      expect([path, 'dark', await accessibilityProblems(page, ['color-contrast'])]).toEqual([
        path,
        'dark',
        [],
      ])
      await page.emulateMedia({ colorScheme: 'light' })
    })
  })

  step('has no English texts in Chinese, and fits a phone', async () => {
    await button('Language').click()
    await page.getByRole('menuitem', { name: '中文' }).click()
    await page.getByRole('button', { name: '退出登录' }).waitFor()
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('zh-CN')
    await visitPages(async (path) => {
      await page.setViewportSize({ width: 390, height: 844 })
      expect([path, await englishTexts(page), await overflows(page)]).toEqual([path, [], false])
      await page.setViewportSize({ width: 1280, height: 800 })
    })
    await page.goto(herald.url('/nowhere'))
    await page.getByText('页面不存在').waitFor()
    expect(await englishTexts(page)).toEqual([])
    await open('/applications')
    await page.getByLabel('名称', { exact: true }).fill('Second application')
    await button('创建').click()
    await page.getByRole('alert').getByText('名称已存在，请换一个。').waitFor()
    expect(await englishTexts(page)).toEqual([])
    expect(tab.failedRequests.splice(0)).toEqual(['409 POST /admin/app'])
    await button('语言').click()
    await page.getByRole('menuitem', { name: 'English' }).click()
  })

  step('lets an application sign in to itself only, and sign out', async () => {
    await open('/')
    await button('Sign out').click()
    await page.getByRole('heading', { name: 'Sign in to Herald' }).waitFor()
    await page.goto(herald.url('/tasks'))
    await page.getByLabel('Application ID').fill(herald.demo.app_id)
    await page.getByLabel('Application secret').fill(herald.demo.app_secret)
    await button('Sign in').click()
    await page.getByRole('link', { name: 'Walked through' }).waitFor()
    expect(await page.getByRole('link', { name: 'Applications' }).count()).toBe(0)
    expect(await page.getByRole('link', { name: 'Queues' }).count()).toBe(0)
    await page.goto(herald.url('/applications'))
    await page.getByText('Only the operator can use this page.').waitFor()
    await button('Sign out').click()
    await page.getByRole('heading', { name: 'Sign in to Herald' }).waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
  })

  step('caused no failed requests and no errors', () => {
    expect(tab.failedRequests).toEqual([])
    expect(tab.errors).toEqual([])
  })
})
