import { generateKeyPairSync } from 'node:crypto'
import { describeWith, until } from '@herald/testkit'
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'
import type { Page } from 'playwright-core'
import { barriers, englishOn, sticksOut } from './looks.ts'
import { openStage, type Stage, type Visit } from './stage.ts'

jest.setTimeout(180_000)

type TaskRow = { task_id: number; state: string; sent: number }
type Counters = Record<string, number>

/** As a person would go through it: each step continues where the one before ended. */
describeWith('chromium')('the console in a browser', () => {
  let stage: Stage
  let visit: Visit
  let page: Page
  let taskId: number
  beforeAll(async () => {
    stage = await openStage()
    visit = await stage.visit()
    page = visit.page
  })
  afterAll(async () => {
    await stage?.close()
  })

  /** A step that cannot begin where the last one should have ended would only wait for nothing. */
  let lost = false
  const step = (name: string, walk: () => Promise<void> | void) =>
    it(name, async () => {
      if (lost) throw new Error('An earlier step failed.')
      lost = true
      await walk()
      lost = false
    })
  const button = (name: string | RegExp) =>
    page.getByRole('button', { name, exact: typeof name === 'string' })
  const open = async (path: string) => {
    await page.goto(stage.url(path))
    await page.locator('h1').waitFor()
  }
  const taskNow = async () => {
    const { list } = await stage.call<{ list: TaskRow[] }>('/push/task/list', { limit: 50 })
    return list.find(({ task_id }) => task_id === taskId)
  }
  const setFaults = (faults: object) =>
    fetch(`${stage.demo.simulators.vivo}/_sim/faults`, { method: 'POST', body: JSON.stringify(faults) })
  const countersNow = async (id: number) =>
    (await stage.call<Counters[]>('/push/task/detail', { list: [id] }))[0] ?? {}

  step('loads less than 500 KB before a stranger has signed in and seen the overview', async () => {
    const network = await page.context().newCDPSession(page)
    await network.send('Network.enable')
    let bytes = 0
    network.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    await page.goto(stage.url('/'))
    await page.getByRole('heading', { name: 'Sign in to Herald' }).waitFor()
    expect(visit.refusals).toEqual([])

    await page.getByText('Operator', { exact: true }).click()
    await page.getByLabel('Operator key').fill('not the key')
    await button('Sign in').click()
    await page.getByRole('alert').getByText('The sign-in failed: the operator_key is wrong.').waitFor()
    expect(visit.refusals.splice(0)).toEqual(['401 POST /console/session'])

    await page.getByLabel('Operator key').fill(stage.demo.operator_key)
    await button('Sign in').click()
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
    await page.getByText('Simulated huawei').waitFor()
    expect(bytes).toBeGreaterThan(50_000)
    expect(bytes).toBeLessThan(500_000)
    await network.detach()
  })

  step('is reached by keyboard: the first key leads past the menu', async () => {
    await open('/')
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the content')
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('content')
  })

  step('refuses a bad certificate in a sentence that helps, and takes a good one from a file', async () => {
    await open('/certificates')
    await button('Add or replace').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Vendor').selectOption({ label: 'FCM' })
    await dialog.getByLabel('Service account (JSON)').fill('{"type":"service_account"')
    await button('Save').click()
    await dialog
      .getByRole('alert')
      .getByText('certificate is no JSON: paste the service-account file from the Firebase console whole.')
      .waitFor()
    expect(visit.refusals.splice(0)).toEqual(['400 PUT /admin/push/certificate'])

    await dialog.getByLabel('Vendor').selectOption({ label: 'APNs: Signing key (.p8)' })
    await dialog.getByLabel('Environment').selectOption({ label: 'development' })
    await dialog.getByLabel('Name', { exact: true }).fill('Walked')
    await dialog.getByLabel('Bundle ID', { exact: true }).fill('com.example.walked')
    await dialog.getByLabel('Key ID').fill('ABCDE12345')
    await dialog.getByLabel('Team ID').fill('FGHIJ67890')
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const chooser = page.waitForEvent('filechooser')
    await dialog.getByLabel('Read from a file').click()
    await (await chooser).setFiles({ name: 'AuthKey.p8', mimeType: 'text/plain', buffer: Buffer.from(key) })
    await until(async () => (await dialog.getByLabel('Signing key (.p8)').inputValue()) === key)
    await button('Save').click()
    await page.getByRole('region', { name: 'APNs, development' }).getByText('Walked · development').waitFor()

    const huawei = page.getByRole('region', { name: 'Huawei, production' })
    await huawei.getByRole('button', { name: 'Check' }).click()
    await huawei.getByText('Huawei: the vendor accepts this certificate.').waitFor()
  })

  step('sends to a tag after explaining where one device would get it', async () => {
    await open('/send')
    await page.getByLabel('Title', { exact: true }).fill('Walked through')
    await page.getByRole('textbox', { name: 'Text', exact: true }).fill('A push from the console')
    await page.getByRole('figure').getByText('A push from the console').first().waitFor()
    await page.getByLabel('Extension fields (JSON)').fill('{"order": 1024}')

    await page.getByLabel('Who gets it').selectOption({ label: 'Everyone' })
    await button('Send').click()
    await page.getByRole('dialog').getByText('Herald demo').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Back' }).click()

    await page.getByLabel('Who gets it').selectOption({ label: 'Tags' })
    await button('Send').click()
    await page.getByText('Name at least one.').waitFor()
    await page.getByRole('combobox', { name: 'Devices with any of these' }).fill('demo')
    await page.keyboard.press('Enter')
    await page.getByLabel('Strategy').selectOption({ label: 'Vendors only' })
    await page.getByLabel('Speed (devices per second)').fill('500')

    await page.getByLabel('Device', { exact: true }).fill('demo-pixel')
    await button('Explain').click()
    await page.getByText('demo-pixel would get it through FCM.').waitFor()

    // One vendor takes nothing yet, so that the task is under way when it is paused.
    await setFaults({ throttle: 1 })
    const before = await stage.call<{ list: TaskRow[] }>('/push/task/list', {})
    await button('Send').click()
    const accepted = await page.getByText(/^Accepted as task \d+\./).textContent()
    taskId = Number(/task (\d+)/.exec(accepted ?? '')?.[1])
    expect(before.list.map(({ task_id }) => task_id)).not.toContain(taskId)
    await page.getByRole('link', { name: 'Watch it' }).click()
    await page.getByRole('heading', { name: 'Walked through' }).waitFor()
  })

  step('pauses and resumes it, and the funnel fills until it shows what the interface counts', async () => {
    await button('Pause').click()
    await page.getByText('paused').first().waitFor()
    expect((await taskNow())?.state).toBe('paused')
    await setFaults({})
    await button('Resume').click()
    await button('Pause').waitFor()
    await page.getByText('finished', { exact: true }).waitFor()

    const total = page.locator('tr[data-channel="total"] td')
    const received = (counters: Counters) =>
      Object.entries(counters).reduce(
        (sum, [name, count]) => sum + (name.endsWith('_received') ? count : 0),
        0,
      )
    // Six vendors tell what arrived: nine of the twelve devices.
    await until(async () => received(await countersNow(taskId)) === 9, { seconds: 60 })
    await until(async () => (await total.allTextContents()).join(' ') === '12 12 9 75%', { seconds: 60 })
    const huawei = await countersNow(taskId)
    expect((await page.locator('tr[data-channel="huawei"] td').allTextContents()).slice(0, 3)).toEqual([
      String(huawei.huawei_target),
      String(huawei.huawei_sent),
      String(huawei.huawei_received),
    ])
    await page.getByText('No failure so far.').waitFor()
    await page.locator('.recharts-bar-rectangle').first().waitFor()
    await page.getByRole('link', { name: 'All tasks' }).click()
    await page.getByRole('link', { name: 'Walked through' }).waitFor()
  })

  step('tells why a push failed, and for which device', async () => {
    type Found = { list: { push_token: string; bindings: { device_token: string }[] }[] }
    const [device] = (await stage.call<Found>('/admin/device/list', { device_guid: 'demo-oppo' })).list
    const tokens = device?.bindings.map(({ device_token }) => device_token)
    await fetch(`${stage.demo.simulators.oppo}/_sim/dead`, {
      method: 'POST',
      body: JSON.stringify({ tokens }),
    })
    const { task_id } = await stage.call<TaskRow>('/push/notify', {
      audience: { push_token: [device?.push_token] },
      setting: { distribution_strategy: 'ospush_only' },
      message: { title: 'To a dead token' },
    })
    await open(`/tasks/${task_id}`)
    const failures = page.getByRole('table', { name: 'Failures by reason' })
    await failures.getByRole('cell', { name: 'failed' }).waitFor()
    await failures.getByRole('link', { name: 'demo-oppo' }).waitFor()
    expect(await barriers(page)).toEqual([])
  })

  step('shows the rate of what is being sent', async () => {
    await page.getByRole('link', { name: 'Overview', exact: true }).click()
    await page.getByText('The chart begins in a few seconds').waitFor()
    await page.getByText('Nothing was sent in the last minutes.').waitFor()
    await stage.call('/push/notify', { audience: { tag: ['demo'] }, message: { title: 'Moves the chart' } })
    await page.getByRole('img', { name: /^Chart of devices sent/ }).waitFor()
  })

  step('is a device: connects, receives a push and acknowledges it', async () => {
    await open('/be-a-device')
    await page.getByText('Connect, then send a push to this device.').waitFor()
    await button('Connect').click()
    await page.getByText('online', { exact: true }).waitFor()
    await button('Send one to myself').click()
    const card = page.locator('article')
    await card.getByText('Hello, browser').waitFor()
    const id = Number(await card.getAttribute('data-task'))
    await until(async () => (await countersNow(id)).nativepush_received === 1, { seconds: 30 })
    expect(await barriers(page)).toEqual([])
    await button('Disconnect').click()
    await page.getByText('not connected', { exact: true }).waitFor()
  })

  step('finds devices, changes their tags and sends one a test', async () => {
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
    const tagged = () => stage.call<{ list: { tags: string[] }[] }>('/admin/device/list', { tag: 'walked' })
    await until(async () => (await tagged()).list.length === 1)
    expect((await tagged()).list[0]?.tags).toEqual(['demo', 'ios', 'vip', 'walked'])

    await button('Explain').click()
    await page.getByText('demo-iphone would get it through APNs.').waitFor()
    await button('Send the test').click()
    await page.getByText(/^Accepted as task/).waitFor()
  })

  step('shows the operator the queues', async () => {
    await page.goto(`${stage.demo.base_url}/queues`)
    await page.getByText('push-huawei').first().waitFor()
    await page.getByText('push-apns').first().waitFor()
  })

  step('creates an application, shows its secret once, and looks at it', async () => {
    await open('/applications')
    await page.getByLabel('Name', { exact: true }).fill('Second application')
    await button('Create').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('The secret of Second application is shown this once.').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await page
      .getByRole('row', { name: /Second application/ })
      .getByRole('button', { name: 'Look at it' })
      .click()
    await page.getByRole('link', { name: 'Tasks', exact: true }).click()
    await page.getByText('Nothing was sent yet.').waitFor()
    await page.getByLabel('Application').selectOption({ label: 'All applications' })
    await page.getByText('This page shows one application at a time.').waitFor()
    await page.getByLabel('Application').selectOption({ label: 'Herald demo' })
    await page.getByRole('link', { name: 'Walked through' }).waitFor()
  })

  /** Every page by its link in the menu, then a task and a device out of their lists. */
  async function tour(look: (where: string) => Promise<void>): Promise<void> {
    const links = page.getByRole('navigation').locator('a[href^="/console"]')
    const paths = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''))
    expect(paths.length).toBe(7)
    const heading = page.locator('h1')
    const follow = async (path: string) => {
      const former = path === paths[0] ? '' : await heading.textContent()
      await page.locator(`a[href="${path}"]`).first().click()
      await until(async () => (await heading.textContent()) !== former, { seconds: 30, what: path })
      await page.locator('.mantine-Loader-root').waitFor({ state: 'detached' })
      await look(path)
    }
    for (const path of paths) {
      await follow(path)
      if (path.endsWith('/tasks')) await follow(`/console/tasks/${taskId}`)
      if (path.endsWith('/devices')) await follow('/console/device?guid=demo-several')
    }
  }

  step('holds nobody up: axe finds nothing serious on any page, light or dark', async () => {
    await open('/')
    await tour(async (path) => {
      expect([path, await barriers(page)]).toEqual([path, []])
      // Only colours change with the colour scheme.
      await page.emulateMedia({ colorScheme: 'dark' })
      await page.locator('html[data-mantine-color-scheme="dark"]').waitFor()
      expect([path, 'dark', await barriers(page, ['color-contrast'])]).toEqual([path, 'dark', []])
      await page.emulateMedia({ colorScheme: 'light' })
    })
  })

  step('is Chinese through and through, and fits a telephone', async () => {
    await button('Language').click()
    await page.getByRole('menuitem', { name: '中文' }).click()
    await page.getByRole('button', { name: '退出登录' }).waitFor()
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('zh-CN')
    await tour(async (path) => {
      await page.setViewportSize({ width: 390, height: 844 })
      expect([path, await englishOn(page), await sticksOut(page)]).toEqual([path, [], false])
      await page.setViewportSize({ width: 1280, height: 800 })
    })
    await page.goto(stage.url('/nowhere'))
    await page.getByText('没有这个页面。').waitFor()
    expect(await englishOn(page)).toEqual([])
    await open('/applications')
    await page.getByLabel('名称', { exact: true }).fill('Second application')
    await button('创建').click()
    await page.getByRole('alert').getByText('已经存在，请换一个名称。').waitFor()
    expect(await englishOn(page)).toEqual([])
    expect(visit.refusals.splice(0)).toEqual(['409 POST /admin/app'])
    await button('语言').click()
    await page.getByRole('menuitem', { name: 'English' }).click()
  })

  step('lets an application sign in to itself alone, and out again', async () => {
    await open('/')
    await button('Sign out').click()
    await page.getByRole('heading', { name: 'Sign in to Herald' }).waitFor()
    await page.goto(stage.url('/tasks'))
    await page.getByLabel('Application ID').fill(stage.demo.app_id)
    await page.getByLabel('Application secret').fill(stage.demo.app_secret)
    await button('Sign in').click()
    await page.getByRole('link', { name: 'Walked through' }).waitFor()
    expect(await page.getByRole('link', { name: 'Applications' }).count()).toBe(0)
    expect(await page.getByRole('link', { name: 'Queues' }).count()).toBe(0)
    await page.goto(stage.url('/applications'))
    await page.getByText('Only the operator sees this page.').waitFor()
    await button('Sign out').click()
    await page.getByRole('heading', { name: 'Sign in to Herald' }).waitFor()
    expect(await barriers(page)).toEqual([])
  })

  step('was refused nothing on the way, by the API or by its own policy', () => {
    expect(visit.refusals).toEqual([])
    expect(visit.problems).toEqual([])
  })
})
