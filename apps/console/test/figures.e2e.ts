import { readFileSync } from 'node:fs'
import { until } from '@herald/testkit'
import { describeInBrowser } from '@herald/testkit/browser'
import { expect } from '@jest/globals'
import type { Page, Route } from 'playwright-core'
import { accessibilityProblems } from './page-checks.ts'
import type { TestConsole } from './test-console.ts'
import { createWalk } from './walk.ts'

/** What an operator reads: overview, list of tasks, task. Each step continues where the previous one ended. */
describeInBrowser('the figures of the console', () => {
  let herald: TestConsole
  let page: Page
  let taskId: number
  let failing: number
  const { step, button, region, open, hold, push, taskNow, setFaults, killTokens, endsClean } = createWalk({
    onOpen(opened) {
      herald = opened.herald
      page = opened.page
    },
  })
  const part = (kind: string) => page.locator(`[data-part="${kind}"] dd`)
  const state = (name: string) => region('Progress').getByText(name, { exact: true })

  step('says that nothing was sent, as the server knows it', async () => {
    await open('')
    await page.getByText('Nothing was sent in the last hour.').waitFor()
    await page.locator('tr[data-channel="vivo"][data-state="unused"]').waitFor()
  })

  step('pauses and resumes a task, and has no time left while it is paused', async () => {
    await setFaults('vivo', { throttle: 1 })
    taskId = await push({
      audience: { tag: ['demo'] },
      setting: { distribution_strategy: 'ospush_only', speed: 500, campaign: 'walk' },
      message: { title: 'Walked through', body: 'A push to look at', ext: { order: 1024 } },
    })
    const request = await hold('/push/task/request')
    await open(`/tasks/${taskId}`)
    const place = async () => (await button('Pause').boundingBox())?.x
    const before = await place()
    request.release()
    await page.getByRole('link', { name: 'Copy to new push' }).waitFor()
    // A button that moves while it is pressed is not pressed.
    expect(await place()).toBe(before)
    await button('Pause').click()
    await state('paused').waitFor()
    await page.locator('[data-left="paused"]').waitFor()
    expect((await taskNow(taskId))?.state).toBe('paused')
    await button('Resume').click()
    // It cannot end before the page shows that it goes on.
    await button('Pause').waitFor()
    await setFaults('vivo', {})
    await state('finished').waitFor()
  })

  step('shows every counter by channel, and received only of channels that report', async () => {
    await until(async () => (await taskNow(taskId))?.received === 9)
    const received = page.locator('[data-step="received"]')
    await received.getByText('100% of 9 sent through channels that report').waitFor()
    await page.getByText(/^Devices not reported: 3\. APNs and FCM /).waitFor()
    await until(
      async () => (await page.locator('[data-step] .figure').allTextContents()).join() === '12,12,9,0',
      { what: 'the figures of the steps' },
    )
    const cells = async (channel: string) =>
      (await page.locator(`tr[data-channel="${channel}"] td`).allTextContents()).map((text) => text.trim())
    type Channel = { channel: string; target: number; sent: number; failed: number; received: number }
    const channels = await herald.call<Channel[]>('/push/task/channels', { task_id: taskId })
    const huawei = channels.find(({ channel }) => channel === 'huawei')!
    // The table is read apart from the steps.
    await until(async () => (await cells('total')).join() === '12,12,0,9', { what: 'the table' })
    expect(await cells('huawei')).toEqual([
      String(huawei.target),
      String(huawei.sent),
      String(huawei.failed),
      `${huawei.received} 100%`,
    ])
    expect((await cells('apns')).at(-1)).toBe('no receipts')
    // Nothing failed, so there is no table of reasons.
    expect(await region('Not sent, by reason').count()).toBe(0)
    expect(await accessibilityProblems(page)).toEqual([])
  })

  step('shows message, audience and sender, and the call that sends it again', async () => {
    const request = region('Message and audience')
    await request.getByText('A push to look at').waitFor()
    await request.getByText('Devices with any of these tags').waitFor()
    await request.getByText('demo', { exact: true }).waitFor()
    await request.getByText('Vendor channels only').waitFor()
    await request.getByText(/^admin · /).waitFor()
    await request.getByRole('link', { name: 'walk' }).waitFor()
    await request.getByRole('button', { name: 'Show as JSON' }).click()
    await request.getByText('"order": 1024').waitFor()
    await button('Show as curl').click()
    const curl = page.getByRole('dialog')
    await curl.getByText('1024').waitFor()
    await curl.getByText('/push/notify').first().waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await page.keyboard.press('Escape')
    await curl.waitFor({ state: 'hidden' })
    await page.getByRole('link', { name: 'Copy to new push' }).click()
    await page.waitForURL(/\/send/)
    await until(
      async () => (await page.getByLabel('Title', { exact: true }).inputValue()) === 'Walked through',
    )
  })

  step('shows what waits and why, and no time left while nothing moves', async () => {
    await setFaults('vivo', { unavailable: 1 })
    const list = Array.from({ length: 40 }, (_, n) => ({
      device_guid: `figure-${n}`,
      platform: 'android',
      tags: ['figures'],
      bindings: [{ provider: 'vivo', device_token: `1500000000000000000${1000 + n}` }],
    }))
    await herald.call('/admin/device/batch', { list })
    failing = await push({ audience: { tag: ['figures'] }, message: { title: 'Nobody answers' } })
    await open(`/tasks/${failing}`)
    await page.locator('[data-left="stalled"]').waitFor()
    await part('pending').getByText('40').waitFor()
    const vivo = page.getByRole('table', { name: 'Why devices wait' }).getByRole('row', { name: /^vivo/ })
    await vivo.getByText('Next attempt').first().waitFor()
    await vivo.getByRole('cell', { name: '40', exact: true }).waitFor()
    expect(await page.getByText(/left$/).count()).toBe(0)
  })

  step(
    'shows the vendor that fails first and red, its last error, and the devices that wait for it',
    async () => {
      await open('')
      const vivo = page.locator('tr[data-channel="vivo"][data-state="failing"]')
      await vivo.waitFor()
      expect(await page.locator('tr[data-state]').first().getAttribute('data-channel')).toBe('vivo')
      await vivo.locator('.mark-bad').first().waitFor()
      await vivo.getByText(/of attempts not processed by the vendor \(10 min\)$/).waitFor()
      await vivo.getByText(/Last error/).waitFor()
      await vivo
        .getByText(/HTTP 500/)
        .first()
        .waitFor()
      const waiting = region('Not sent yet').locator('tr[data-cause="silent"], tr[data-cause="retry"]')
      await waiting.getByRole('cell', { name: /^40 / }).waitFor()
      expect(await accessibilityProblems(page)).toEqual([])
      // The operator sees the same over all applications.
      await page.getByLabel('Application', { exact: true }).selectOption({ label: 'All applications' })
      await page.locator('tr[data-channel="vivo"][data-state="failing"]').waitFor()
    },
  )

  step('counts by the time of sending, and keeps its chart over a reload', async () => {
    await open('')
    const huawei = page.locator('tr[data-channel="huawei"]')
    type Channel = { channel: string; sent_10m: number }
    const sent = async () =>
      (await herald.call<{ channels: Channel[] }>('/console/overview')).channels.find(
        ({ channel }) => channel === 'huawei',
      )!.sent_10m
    const { sent: expected } = (
      await herald.call<{ channel: string; sent: number }[]>('/push/task/channels', { task_id: taskId })
    ).find(({ channel }) => channel === 'huawei')!
    await until(async () => (await sent()) === expected)
    await huawei
      .getByRole('cell', { name: String(expected), exact: true })
      .first()
      .waitFor()
    const chart = page.getByRole('img', { name: /^Chart of devices sent and failed/ })
    await chart.waitFor()
    await page.reload()
    // The table is above the chart.
    await huawei.waitFor()
    await chart.waitFor()
    await page.getByText('24 h', { exact: true }).click()
    await page.getByRole('heading', { name: 'Devices per 10 minutes' }).waitFor()
    await chart.waitFor()
    // An old task that is still open is not of the last ten minutes: only what was sent counts.
    await page.getByRole('combobox', { name: 'Channel', exact: true }).selectOption({ label: 'vivo' })
    await setFaults('vivo', {})
    await until(async () => (await taskNow(failing))?.state === 'finished')
    await page.locator('tr[data-channel="vivo"][data-state="working"]').waitFor()
    await page.getByText('Nothing is waiting.').waitFor()
  })

  step('shows cancelled devices as cancelled, in one line', async () => {
    // So that it cannot end before it is paused.
    await setFaults('vivo', { throttle: 1 })
    const id = await push({
      audience: { tag: ['demo'] },
      setting: { distribution_strategy: 'ospush_only', speed: 1 },
      message: { title: 'Stopped' },
    })
    await until(async () => ((await taskNow(id))?.sent ?? 0) > 0)
    // Some are sent, and no more.
    await herald.call('/push/task/pause', { task_id: id })
    await open(`/tasks/${id}`)
    await button('Cancel task').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel task' }).click()
    await state('cancelled').waitFor()
    await setFaults('vivo', {})
    await part('cancelled').waitFor()
    expect(await region('Progress').getByText('100%', { exact: true }).count()).toBe(0)
    const bar = region('Progress').locator('[data-bar]')
    expect(await bar.getAttribute('data-bar')).toContain('cancelled')
    const cancelled = page.locator('tr[data-fate="cancelled"]')
    await cancelled.getByText('The task was cancelled').waitFor()
    expect(await cancelled.count()).toBe(1)
  })

  step('has states of their own for tasks without devices, inboxes and a later start', async () => {
    const nobody = await push({ audience: { tag: ['mistyped'] }, message: { title: 'To nobody' } })
    await open(`/tasks/${nobody}`)
    await state('no device matched').waitFor()
    await page.getByText('No device matched the audience. Nothing was sent.').waitFor()
    expect(await region('Delivery by channel').count()).toBe(0)

    const offline = await push({
      audience: { alias: ['bob'] },
      setting: { distribution_strategy: 'nativepush_only' },
      message: { title: 'To an inbox' },
    })
    await open(`/tasks/${offline}`)
    await state('waiting for devices').waitFor()
    await page.getByText(/^Offline devices: \d+\. The message waits in their inboxes\.$/).waitFor()
    // It is no open work.
    await open('')
    await page.locator('[data-card="openTasks"]').getByText('0', { exact: true }).waitFor()

    const later = await push({
      audience: 'all',
      message: { title: 'Tomorrow', show_begin_time: Math.floor(Date.now() / 1000) + 90_000 },
    })
    await open(`/tasks/${later}`)
    await page.getByText(/^Begins in 1 d/).waitFor()
    for (const empty of [
      'Delivery by channel',
      'Not sent, by reason',
      'Why devices wait',
      'Find a device or person',
    ])
      expect(await region(empty).count()).toBe(0)
    expect(await accessibilityProblems(page)).toEqual([])
  })

  step('lists broadcasts, and all tasks if asked, by what the URL says', async () => {
    await push({ audience: { alias: ['nobody-has-it'] }, message: { title: 'Order 17' } })
    await open('/tasks')
    const rows = page.getByRole('table', { name: 'Tasks' }).locator('tbody tr')
    await rows.getByRole('link', { name: 'Tomorrow' }).waitFor()
    await rows.locator('[data-state="nobody"]').waitFor()
    const stopped = rows.filter({ hasText: 'Stopped' }).locator('[data-bar]')
    expect(await stopped.getAttribute('data-bar')).toBe('sent cancelled')
    expect(await rows.getByRole('link', { name: 'Order 17' }).count()).toBe(0)
    await page.getByText('All tasks', { exact: true }).click()
    await rows.getByRole('link', { name: 'Order 17' }).waitFor()
    await page.getByLabel('Text in the title').fill('ORDER')
    await button('Filter').click()
    await until(async () => (await rows.count()) === 1)
    await rows.getByRole('link', { name: 'Order 17' }).click()
    await page.getByRole('heading', { name: 'Order 17' }).waitFor()
    await page.goBack()
    await until(async () => (await rows.count()) === 1)
    expect(await page.getByLabel('Text in the title').inputValue()).toBe('ORDER')
    await button('Clear filter').click()
    await page.getByLabel('Min. devices').fill('40')
    await page.keyboard.press('Enter')
    await until(async () => (await rows.count()) === 1)
    await rows.getByRole('link', { name: 'Nobody answers' }).waitFor()
    expect(page.url()).toContain('min=40')
    await open('/tasks?state=scheduled')
    await rows.getByRole('link', { name: 'Tomorrow' }).waitFor()
    expect(await rows.count()).toBe(1)
    await open('/tasks?campaign=walk&actor=admin')
    await rows.getByRole('link', { name: 'Walked through' }).waitFor()
    expect(await rows.count()).toBe(1)
    await page.getByLabel('State', { exact: true }).selectOption({ label: 'paused' })
    await page.getByText('No tasks match the filter').waitFor()
  })

  step('keeps the list still under the pointer, and exports it', async () => {
    await open('/tasks')
    const table = page.getByRole('table', { name: 'Tasks' })
    await table.getByRole('link', { name: 'Tomorrow' }).waitFor()
    await table.hover()
    await page.getByText('Not refreshed while you point at the list.').waitFor()
    await push({ audience: { tag: ['mistyped'] }, message: { title: 'Later' } })
    await page.mouse.move(0, 0)
    await table.getByRole('link', { name: 'Later' }).waitFor()
    const saved = page.waitForEvent('download')
    await button('Export CSV').click()
    const download = await saved
    expect(download.suggestedFilename()).toBe('tasks.csv')
    const lines = readFileSync(await download.path(), 'utf8')
      .trimEnd()
      .split('\r\n')
    expect(lines[0]).toContain('task_id,state,title')
    expect(lines.some((line) => line.startsWith(`${taskId},finished,Walked through,walk,admin,`))).toBe(true)
    expect(lines.length - 1).toBe(await table.locator('tbody tr').count())
    expect(await accessibilityProblems(page)).toEqual([])
  })

  step('shows why a push failed, and for which device', async () => {
    const id = await push({
      audience: { push_token: [await killTokens('oppo', 'demo-oppo')] },
      setting: { distribution_strategy: 'ospush_only' },
      message: { title: 'To a dead token' },
    })
    await open(`/tasks/${id}`)
    const failed = page.getByRole('table', { name: 'Not sent, by reason' }).locator('tr[data-fate="failed"]')
    await failed.getByText('failed', { exact: true }).waitFor()
    await failed.getByRole('link', { name: 'demo-oppo' }).waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
  })

  step('counts a device once that moved to another channel', async () => {
    await herald.call(
      '/admin/device',
      {
        device_guid: 'figure-moved',
        platform: 'android',
        bindings: [
          { provider: 'vivo', device_token: '15000000000000000009999' },
          { provider: 'xiaomi', device_token: 'ZmlndXJlLW1vdmVkLXhpYW9taQ==' },
        ],
      },
      'PUT',
    )
    const id = await push({
      audience: { push_token: [await killTokens('vivo', 'figure-moved')] },
      setting: { distribution_strategy: 'ospush_only', ospush_sequence: ['vivo', 'xiaomi'] },
      message: { title: 'Moved on' },
    })
    await open(`/tasks/${id}`)
    await state('finished').waitFor()
    const cell = (channel: string, kind: string) =>
      page.locator(`tr[data-channel="${channel}"] td[data-kind="${kind}"]`).textContent()
    const shown = () =>
      Promise.all(
        ['vivo', 'xiaomi', 'total'].map((channel) =>
          Promise.all(['target', 'sent', 'moved'].map((kind) => cell(channel, kind))),
        ),
      )
    // On each channel the target is the sum of the results.
    await until(async () => JSON.stringify(await shown()) === '[["1","0","1"],["1","1","0"],["1","1",""]]')
    await part('sent')
      .filter({ hasText: /^1 100%$/ })
      .waitFor()
    await page.locator('tr[data-fate="moved"]').getByText('The token is no longer valid').waitFor()

    // Reasons of this task are not shown as those of its recall.
    await button('Recall').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Recall push' }).click()
    const link = page.getByRole('link', { name: 'View recall' })
    const recall = /\d+$/.exec((await link.getAttribute('href')) ?? '')?.[0]
    const asked = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    const continued = Promise.withResolvers<void>()
    const isOfRecall = (route: Route) => String(route.request().postDataJSON().task_id) === recall
    await page.route('**/push/task/failures', async (route) => {
      if (!isOfRecall(route)) return route.continue()
      asked.resolve()
      await released.promise
      await route.continue()
      continued.resolve()
    })
    await link.click()
    await asked.promise
    await page.getByText('This task recalls an earlier push.').waitFor()
    expect(await page.locator('tr[data-fate]').count()).toBe(0)
    released.resolve()
    await continued.promise
    await page.unroute('**/push/task/failures')
  })

  step('recalls a push after showing what each channel can do', async () => {
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
    await page.getByText(/^Recall \d+: 11 of 12 devices\./).waitFor()
    await page.getByRole('link', { name: 'View recall' }).click()
    await page.getByRole('heading', { name: 'Corrected' }).waitFor()
    await page.getByText('This task recalls an earlier push.').waitFor()
    expect(await page.getByRole('link', { name: 'Copy to new push' }).count()).toBe(0)
  })

  endsClean()
})
