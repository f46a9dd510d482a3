import { generateKeyPairSync } from 'node:crypto'
import { until } from '@herald/testkit'
import { describeInBrowser } from '@herald/testkit/browser'
import { expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { accessibilityProblems, cutTables, englishTexts, overflows } from './page-checks.ts'
import type { Tab, TestConsole } from './test-console.ts'
import { createWalk } from './walk.ts'

/** Each step continues where the previous one ended. */
describeInBrowser('the frame of the console in a browser', () => {
  let herald: TestConsole
  let tab: Tab
  let page: Page
  let taskId: number
  const {
    step,
    button,
    heading,
    openPath: open,
    hold,
    region,
    setFaults,
    untilFocusIn,
    signIn,
    endsClean,
  } = createWalk({
    signedIn: false,
    onOpen(opened) {
      herald = opened.herald
      tab = opened.tab
      page = opened.page
    },
  })
  /** The label or the text of the element that has the focus. */
  const focused = () =>
    page.evaluate(() => {
      const element = document.activeElement as HTMLInputElement
      return element.labels?.[0]?.textContent ?? element.getAttribute('aria-label') ?? element.textContent
    })
  const picker = () => page.getByLabel('Application', { exact: true })

  step('loads less than 250 KB for the sign-in, and less than 500 KB up to the overview', async () => {
    const network = await page.context().newCDPSession(page)
    await network.send('Network.enable')
    let bytes = 0
    network.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    await page.goto(herald.url('/'))
    await heading('Sign in to Herald').waitFor()
    await until(() => bytes > 50_000)
    expect(bytes).toBeLessThan(250_000)
    expect(tab.failedRequests).toEqual([])

    await until(async () => (await focused()) === 'Operator key')
    await page.keyboard.type('not the key')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('That operator key is not right.').waitFor()
    expect(tab.failedRequests.splice(0)).toEqual(['401 POST /console/session'])

    await signIn()
    await heading('Overview').waitFor()
    await page.getByText('All vendors are simulated on this machine').waitFor()
    expect(bytes).toBeLessThan(500_000)
    await network.detach()
    expect(page.url()).toBe(herald.appUrl(''))
  })

  step('says how long to wait after too many failed sign-ins', async () => {
    const other = await herald.openTab()
    await other.page.route('**/console/session', (route) =>
      route.fulfill({
        status: 429,
        headers: { 'retry-after': '900' },
        json: { code: 42902, data: null, message: 'Too many failed sign-ins' },
      }),
    )
    await other.page.goto(herald.url('/'))
    await other.page.getByText('Application', { exact: true }).click()
    await other.page.getByLabel('Application ID').fill('a')
    await other.page.getByLabel('Application secret').fill('b')
    await other.page.keyboard.press('Enter')
    await other.page
      .getByRole('alert')
      .getByText(/^Too many failed attempts\. Try again in 15 min, at \d\d:\d\d:\d\d\.$/)
      .waitFor()
    await other.close()
  })

  step('stays signed in when a failed sign-in is removed from the cache', async () => {
    const other = await herald.openTab()
    await other.page.clock.install()
    await other.page.goto(herald.url('/'))
    const key = other.page.getByLabel('Operator key')
    await key.fill('not the key')
    await other.page.keyboard.press('Enter')
    await other.page.getByRole('alert').getByText('That operator key is not right.').waitFor()
    await key.fill(herald.demo.operator_key)
    await other.page.keyboard.press('Enter')
    const overview = other.page.getByRole('heading', { name: 'Overview', exact: true })
    await overview.waitFor()
    // It is kept for five minutes.
    await other.page.clock.fastForward('05:30')
    expect(await other.page.evaluate(() => localStorage.getItem('herald.signed-in'))).toBe('1')
    await overview.waitFor()
    await other.close()
  })

  step('shows its frame before it is known who is signed in', async () => {
    const session = await hold('/console/session')
    await page.goto(herald.appUrl('/tasks'))
    await page.getByRole('navigation', { name: 'Main menu' }).getByRole('link', { name: 'Tasks' }).waitFor()
    await page.getByRole('status').getByText('Loading…').waitFor()
    session.release()
    await heading('Tasks').waitFor()
  })

  step('offers to skip the menu at the first Tab', async () => {
    await open('/')
    await page.keyboard.press('Tab')
    expect(await focused()).toBe('Skip to content')
    await page.keyboard.press('Enter')
    await until(() => page.evaluate(() => document.activeElement?.id === 'content'))
  })

  step('creates an application, shows its secret once, and stays where it was', async () => {
    await open('/applications')
    expect(await picker().inputValue()).toBe(herald.demo.app_id)
    await page.getByLabel('Name', { exact: true }).fill('Second application')
    await page.getByLabel(/^Package name/).fill('not a package!')
    await button('Create').click()
    await page.getByText(/^Use letters, digits, dots/).waitFor()
    await page.getByLabel(/^Package name/).fill('com.example.second')
    await button('Create').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('The secret of Second application is shown only once.').waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Close' }).click()
    expect(await picker().inputValue()).toBe(herald.demo.app_id)

    await button('Actions for Second application').click()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    await dialog.getByLabel('Name', { exact: true }).fill('Shop')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /^Shop/ }).getByText('com.example.second').waitFor()
    await button('Actions for Shop').click()
    await page.getByRole('menuitem', { name: 'Rotate secret' }).click()
    await dialog.getByLabel('Keep the old secret valid for').selectOption({ label: '6 h' })
    await dialog.getByRole('button', { name: 'Rotate secret' }).click()
    await dialog.getByText('The secret of Shop is shown only once.').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
  })

  let shop: string
  step('leads a new application to its first push', async () => {
    await page.getByRole('link', { name: 'Set it up' }).click()
    await heading('Set up this application').waitFor()
    shop = /\/a\/(\w+)$/.exec(page.url())?.[1] ?? ''
    expect(shop).not.toBe(herald.demo.app_id)
    const done = (name: string) => page.locator(`[data-step="${name}"][data-done="true"]`)
    await button('Use simulated vendors').click()
    await done('credentials').waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await page.getByRole('link', { name: 'Open test device' }).click()
    await button('Connect').click()
    await page.getByText('online', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Overview', exact: true }).click()
    await done('device').waitFor()
    expect(await page.locator('[data-step="push"][data-done="false"]').count()).toBe(1)
    await page.getByRole('link', { name: 'Test device', exact: true }).click()
    await button('Connect').or(button('Disconnect')).waitFor()
    if (await button('Connect').isVisible()) await button('Connect').click()
    await button('Send test push').click()
    await page.locator('article').first().waitFor()
    await button('Disconnect').click()
    await page.getByRole('link', { name: 'Overview', exact: true }).click()
    await heading('Overview').waitFor()
    await heading('Set up this application').waitFor({ state: 'detached' })
  })

  step('keeps the application of a tab, whatever another tab selects', async () => {
    const { task_id } = await herald.call<{ task_id: number }>('/push/notify', {
      audience: { tag: ['demo'] },
      message: { title: 'Walked through' },
    })
    taskId = task_id
    // The same browser: the tabs share its storage.
    const other = await page.context().newPage()
    await other.goto(herald.appUrl('/tasks'))
    await other.getByRole('link', { name: 'Walked through' }).waitFor()
    await page.getByRole('link', { name: 'Tasks', exact: true }).click()
    await heading('Tasks').waitFor()
    expect(page.url()).toBe(herald.url(`/a/${shop}/tasks`))
    await other.getByRole('link', { name: 'Walked through' }).click()
    await other.getByRole('heading', { name: 'Walked through' }).waitFor()
    expect(other.url()).toBe(herald.appUrl(`/tasks/${taskId}`))
    await other.reload()
    await other.getByRole('heading', { name: 'Walked through' }).waitFor()

    // A draft stays one of its application.
    await open(`/a/${herald.demo.app_id}/send`)
    await page.locator('#send-title').fill('A draft')
    await page.getByLabel('Send to').selectOption({ label: 'All devices' })
    await other.getByLabel('Application', { exact: true }).selectOption({ label: 'Shop' })
    await other.getByRole('heading', { name: 'Tasks', exact: true }).waitFor()
    expect(other.url()).toBe(herald.url(`/a/${shop}/tasks`))
    await other.close()
    expect(await picker().inputValue()).toBe(herald.demo.app_id)
    await button('Review and send').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('row', { name: 'Application Herald demo' }).waitFor()
    // The size of the audience moves the buttons.
    await button(/^Send to .* devices$/, dialog).waitFor()
    await dialog.getByRole('button', { name: 'Back' }).click()
    await button('Clear draft').click()
    // A new tab begins with the last one of any tab; this one with its own.
    await page.goto(herald.url(`/a/${shop}/tasks`))
    await heading('Tasks').waitFor()
  })

  step('opens links of older releases, and says which application a link needs', async () => {
    // The last one is Shop; the task says that it is the demo's.
    await open(`/tasks/${taskId}?by=byGuid&value=demo-pixel`)
    await heading('Walked through').waitFor()
    expect(page.url()).toBe(herald.appUrl(`/tasks/${taskId}?by=byGuid&value=demo-pixel`))
    await open('/be-a-device')
    expect(page.url()).toBe(herald.appUrl('/test-device'))
    await open('/device?guid=demo-pixel')
    await heading('demo-pixel').waitFor()
    expect(page.url()).toBe(herald.appUrl('/device?guid=demo-pixel'))

    await page.goto(herald.url('/a/0000/tasks'))
    await heading('There is no application 0000').waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await page.getByRole('link', { name: 'Shop' }).click()
    await heading('Tasks').waitFor()
    expect(await page.getByRole('link', { name: 'Walked through' }).count()).toBe(0)

    await picker().selectOption({ label: 'All applications' })
    await heading('Overview').waitFor()
    expect(page.url()).toBe(herald.url('/all'))
    await page.getByRole('link', { name: 'Tasks', exact: true }).click()
    await page.getByText('This page shows one application at a time.').waitFor()
    await page.getByRole('main').getByRole('link', { name: 'Herald demo' }).click()
    await page.getByRole('link', { name: 'Walked through' }).waitFor()
    expect(page.url()).toBe(herald.appUrl('/tasks'))
  })

  step('shows on every page that a channel is refused', async () => {
    // The API keeps figures longer the longer it takes to read them.
    await setFaults('oppo', { refuseAuth: true })
    await herald.call('/push/notify', {
      audience: { tag: ['demo'] },
      setting: { distribution_strategy: 'ospush_only', ospush_sequence: ['oppo'] },
      message: { title: 'Refused' },
    })
    const state = async () =>
      (await herald.call<{ channel: string; state: string }[]>('/admin/push/certificate/list')).find(
        ({ channel }) => channel === 'oppo',
      )?.state
    await until(async () => (await state()) === 'closed', { what: 'the closed channel' })
    const alert = page.locator('[data-alert="closed"]', { hasText: 'OPPO' })
    for (const path of ['/tasks', '/devices', '/settings']) {
      await page.goto(herald.appUrl(path))
      await alert.waitFor()
    }
    expect(await accessibilityProblems(page)).toEqual([])
    // The operator sees whose channel it is.
    await page.goto(herald.url('/all'))
    await alert.getByText(/OPPO \(Herald demo\)/).waitFor()
    await alert.getByRole('link').click()
    await until(() => page.url() === herald.appUrl('/certificates'))
    const oppo = page.getByRole('region', { name: 'OPPO, Mainland China' })
    await oppo.getByText('refused by the vendor', { exact: true }).waitFor()
    // The vendor's code is told in words.
    await oppo.getByText(/^The vendor refuses the credentials/).waitFor()
    await alert.waitFor()
    await setFaults('oppo', {})
    await herald.call('/admin/push/certificate/check', { provider: 6 })
    await alert.waitFor({ state: 'detached' })
  })

  step('changes settings of the application, and how its users sign in', async () => {
    await open('/settings')
    await page.getByLabel('Default strategy').selectOption({ label: 'Vendor channels only' })
    await page.getByLabel('Default time to live (seconds)').fill('3600')
    await button('Save').first().focus()
    await page.keyboard.press('Enter')
    await page.getByText('Saved.').waitFor()
    // The button was disabled by the call, and stays so until something changes.
    await untilFocusIn('section')
    // Also if the answer comes before the next frame: until then the disabled button has the focus, and nothing changes afterwards.
    await page.evaluate(() => {
      const button = document.createElement('button')
      document.querySelector('main section')!.append(button)
      button.focus()
      button.disabled = true
    })
    await until(() => page.evaluate(() => document.activeElement?.matches('section')), {
      what: 'the focus on the section',
    })
    await page.evaluate(() => document.querySelector('main section > button')!.remove())
    const settings = () => herald.call<Record<string, unknown>>('/admin/app/settings')
    expect(await settings()).toMatchObject({
      default_strategy: 'ospush_only',
      default_ttl: 3600,
      register: true,
    })
    await page.getByLabel('Default strategy').selectOption({ label: 'Native channel first, then vendors' })
    await page.getByLabel('Default time to live (seconds)').fill('')
    await button('Save').first().click()
    await page.getByText('Saved.').waitFor()
    expect(await settings()).toMatchObject({ default_strategy: 'combined', default_ttl: 86_400 })

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
    await region('Sign-in with your own tokens').getByText('Saved.').waitFor()
    await page.getByText('in use', { exact: true }).waitFor()
    expect(await herald.call('/admin/identity')).toMatchObject({
      issuer: 'https://id.example.com',
      audience: 'shop',
      user_claim: 'sub',
    })
    await button('Remove sign-in').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove sign-in' }).click()
    await page.getByText('not set', { exact: true }).waitFor()
    // The button is gone; the focus stays in its panel.
    await untilFocusIn('section')
  })

  step('never hides the focus below the header', async () => {
    await page.setViewportSize({ width: 1024, height: 400 })
    await page.getByLabel('Issuer (iss)').focus()
    const tops: number[] = []
    for (let i = 0; i < 8; i++) {
      await page.keyboard.press('Shift+Tab')
      tops.push(await page.evaluate(() => document.activeElement?.getBoundingClientRect().top ?? 0))
    }
    expect(Math.min(...tops)).toBeGreaterThanOrEqual(56)
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  step('opens and closes the menu of a phone by keyboard', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await button('Toggle menu').focus()
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Webhooks' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Webhooks' }).waitFor({ state: 'hidden' })
    await until(async () => (await focused()) === 'Toggle menu')
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  step('folds the fields of a filter on a phone', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    for (const [path, label] of [
      ['/tasks?title=Walked', 'Text in the title'],
      ['/audit?actor=operator', 'Actor'],
    ] as const) {
      await page.goto(herald.appUrl(path))
      await button('Filters (1)').waitFor()
      expect(await page.getByLabel(label).isVisible()).toBe(false)
      await button('Filters (1)').focus()
      await page.keyboard.press('Enter')
      await page.getByLabel(label).waitFor({ state: 'visible' })
      await until(async () => !(await overflows(page)))
    }
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  /** Opens every page of the menu, and a task and a device from their lists. */
  async function visitPages(check: (where: string) => Promise<void>): Promise<void> {
    const links = page.getByRole('navigation').locator('a[href^="/console"]')
    const paths = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''))
    expect(paths.length).toBe(11)
    const title = page.locator('h1')
    const follow = async (path: string) => {
      const previous = path === paths[0] ? '' : await title.textContent()
      await page.locator(`a[href="${path}"]`).first().click()
      await until(async () => (await title.textContent()) !== previous, { what: path })
      await page.locator('.mantine-Loader-root').first().waitFor({ state: 'detached' })
      await check(path)
    }
    for (const path of paths) {
      await follow(path)
      if (path.endsWith('/tasks')) await follow(`${path}/${taskId}`)
      if (path.endsWith('/devices')) await follow(path.replace(/devices$/, 'device?guid=demo-several'))
    }
  }

  /** Less serious rules of axe, which all pages keep. */
  const structure = [
    'empty-table-header',
    'heading-order',
    'landmark-no-duplicate-banner',
    'landmark-unique',
    'target-size',
  ]

  step('has no serious accessibility problems on any page, light or dark', async () => {
    await open('/')
    await visitPages(async (path) => {
      expect([path, await accessibilityProblems(page, { also: structure })]).toEqual([path, []])
      // Only colours change with the colour scheme.
      await page.emulateMedia({ colorScheme: 'dark' })
      await page.locator('html[data-mantine-color-scheme="dark"]').waitFor()
      expect([path, 'dark', await accessibilityProblems(page, { only: ['color-contrast'] })]).toEqual([
        path,
        'dark',
        [],
      ])
      await page.emulateMedia({ colorScheme: 'light' })
    })
  })

  step('has no English texts in Chinese, fits a phone, and cuts no table', async () => {
    await button('Account: Operator').click()
    await page.getByRole('menuitem', { name: '中文' }).click()
    await page.getByRole('button', { name: /^账户/ }).waitFor()
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('zh-CN')
    await visitPages(async (path) => {
      await page.setViewportSize({ width: 390, height: 844 })
      // Charts and tables follow the width of the window a moment later.
      await until(async () => !(await overflows(page)), { what: `${path} fits a phone` })
      expect([path, await englishTexts(page)]).toEqual([path, []])
      await until(async () => (await cutTables(page, { marked: true })).length === 0, {
        what: `${path}, 390`,
      })
      await page.setViewportSize({ width: 1024, height: 768 })
      await until(async () => (await cutTables(page)).length === 0, { what: `${path}, 1024` })
      await page.setViewportSize({ width: 1280, height: 800 })
    })
    await page.goto(herald.url('/nowhere'))
    await page.getByText('页面不存在').waitFor()
    expect(await englishTexts(page)).toEqual([])
    await open('/applications')
    await page.getByLabel('名称', { exact: true }).fill('Shop')
    await button('创建').click()
    await page.getByRole('alert').getByText('名称已存在，请换一个。').waitFor()
    expect(await englishTexts(page)).toEqual([])
    expect(tab.failedRequests.splice(0)).toEqual(['409 POST /admin/app'])
    await button(/^账户/).click()
    await page.getByRole('menuitem', { name: 'English' }).click()
  })

  step('shows the operator the queues, and everybody the reference', async () => {
    await page.goto(`${herald.demo.base_url}/queues`)
    await page.getByText('push-huawei').first().waitFor()
    await page.getByText('push-apns').first().waitFor()
    await page
      .getByText(/^Gateway /)
      .first()
      .waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await page
      .getByRole('link', { name: /push-huawei/ })
      .first()
      .click()
    await page
      .getByRole('link', { name: /^Latest/i })
      .first()
      .waitFor()
    // Its colours are those of the board, which depend on what the jobs say.
    expect(await accessibilityProblems(page, { only: ['button-name', 'svg-img-alt', 'link-name'] })).toEqual(
      [],
    )

    await page.goto(`${herald.demo.base_url}/docs#put-admin-app`)
    await page.getByText('The app_id never changes.').waitFor({ state: 'visible' })
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect([colorScheme, await accessibilityProblems(page)]).toEqual([colorScheme, []])
    }
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize({ width: 390, height: 844 })
    await until(async () => !(await overflows(page)))
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.getByRole('searchbox', { name: 'Search calls and fields' }).fill('dry_run')
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('1 call contains “dry_run”.').waitFor()
    await page.getByText('/push/task/recall', { exact: true }).first().waitFor()
    await page.getByRole('link', { name: '中文' }).click()
    await page.getByRole('heading', { name: '推送', exact: true }).waitFor()
    await page.getByText('撤回推送，或用另一条消息替换').waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await page.getByRole('link', { name: 'English' }).click()
    await page.getByRole('link', { name: 'Herald console' }).click()
    await heading('Overview').waitFor()
  })

  step('lets an application sign in to itself only, and sign out', async () => {
    const signOut = async (account: string) => {
      await button(`Account: ${account}`).click()
      await page.getByRole('menuitem', { name: 'Sign out' }).click()
      await heading('Sign in to Herald').waitFor()
    }
    // The page polls; without the session the API would answer with 401.
    const poll = await hold('/console/overview')
    await poll.asked
    await signOut('Operator')
    poll.release()
    expect(await page.getByRole('alert').count()).toBe(0)
    await page.goto(herald.url('/tasks'))
    await page.getByText('Application', { exact: true }).click()
    await page.getByLabel('Application ID').fill(herald.demo.app_id)
    await page.getByLabel('Application secret').fill(herald.demo.app_secret)
    await button('Sign in').click()
    await page.getByRole('link', { name: 'Walked through' }).waitFor()
    expect(page.url()).toBe(herald.appUrl('/tasks'))
    expect(await page.getByRole('link', { name: 'Applications' }).count()).toBe(0)
    expect(await page.getByRole('link', { name: 'Queues' }).count()).toBe(0)
    await page.goto(herald.url('/applications'))
    await page.getByText('Only the operator can use this page.').waitFor()
    await page.goto(herald.url('/all'))
    await until(() => page.url() === herald.appUrl(''))
    await page.goto(herald.url(`/a/${shop}/tasks`))
    await page.getByText('This link belongs to another application.').waitFor()
    await signOut('Herald demo')
    // The last role is selected.
    await page.getByLabel('Application ID').waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await page.goto(`${herald.demo.base_url}/queues`)
    await page.getByText('Sign in to the console with the operator key').waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    expect(tab.failedRequests.splice(0)).toEqual(['401 GET /queues'])
  })

  step('says that a sign-out failed, and repeats it', async () => {
    const other = await herald.openOperatorTab()
    const session = () =>
      other.page.evaluate(async () => {
        const response = await fetch('/console/session', { headers: { 'x-herald-console': '1' } })
        return response.status
      })
    await other.page.route('**/console/session', (route) => route.abort(), { times: 1 })
    await button('Account: Operator', other.page).click()
    await other.page.getByRole('menuitem', { name: 'Sign out' }).click()
    const alert = other.page.getByRole('alert')
    await alert.getByText('The sign-out failed: the session may still exist on the server.').waitFor()
    await other.page.getByRole('heading', { name: 'Sign in to Herald', exact: true }).waitFor()
    expect(await accessibilityProblems(other.page)).toEqual([])
    expect(await session()).toBe(200)
    await button('Sign out again', other.page).click()
    await alert.waitFor({ state: 'detached' })
    expect(await session()).toBe(401)
    const key = other.page.getByLabel('Operator key')
    await until(() => key.evaluate((input) => input === document.activeElement), { what: 'the focus' })
    await other.close()
  })

  endsClean()
})
