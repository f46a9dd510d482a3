import { generateKeyPairSync } from 'node:crypto'
import { until } from '@herald/testkit'
import { describeInBrowser } from '@herald/testkit/browser'
import { expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { accessibilityProblems, englishTexts, overflows } from './page-checks.ts'
import type { Tab, TestConsole } from './test-console.ts'
import { createWalk } from './walk.ts'

type Credentials = { app_id: string; app_key: string; app_secret: string; name: string }

/** Each step continues where the previous one ended. */
describeInBrowser('credentials and devices in a browser', () => {
  let herald: TestConsole
  let tab: Tab
  let page: Page
  const { step, button, open, push, setFaults, killTokens, endsClean } = createWalk({
    onOpen(opened) {
      herald = opened.herald
      tab = opened.tab
      page = opened.page
    },
  })
  const card = (name: string) => page.getByRole('region', { name, exact: true })
  const form = () => page.getByRole('dialog', { name: /credentials/ })
  const savedFor = (provider: number) => herald.call<Credentials>(`/push/certificate?provider=${provider}`)

  step('shows that credentials are not checked until the vendor has accepted them', async () => {
    await open('/certificates')
    await card('Honor').getByText('not checked yet', { exact: true }).waitFor()
    await card('Honor').getByRole('button', { name: 'Check now' }).click()
    await card('Honor').getByText('Honor accepts these credentials.').waitFor()
    await card('Honor').getByText('working', { exact: true }).waitFor()
    await card('Honor')
      .getByText(/^Last accepted by the vendor: /)
      .waitFor()
    await card('vivo').getByText('not checked yet', { exact: true }).waitFor()
    await button('Check all').click()
    await until(async () => (await page.getByText('working', { exact: true }).count()) === 8)
    // Vendors with one environment do not show it.
    await card('APNs, production').waitFor()
    expect(await page.getByText('production').count()).toBe(1)
  })

  step('changes one setting and keeps the secrets, which never reach the browser', async () => {
    const before = await savedFor(6)
    const answers: Promise<string>[] = []
    page.on('response', (response) => {
      if (response.url().includes('/certificate')) answers.push(response.text().catch(() => ''))
    })
    await card('OPPO, Mainland China').getByRole('button', { name: 'Edit' }).click()
    expect(await form().getByLabel('App key').inputValue()).toBe(before.app_key)
    expect(await form().getByLabel('Master secret').inputValue()).toBe('')
    await form().getByText('Saved. Leave empty to keep it.').first().waitFor()
    await form().getByLabel('Name (optional)').fill('Renamed')
    await button('Check and save').click()
    await page.getByText('Credentials of OPPO saved.').waitFor()
    await card('OPPO, Mainland China').getByText('Renamed · Mainland China').waitFor()
    await card('OPPO, Mainland China').getByText('working', { exact: true }).waitFor()
    expect(await savedFor(6)).toEqual({ ...before, name: 'Renamed' })
    const bodies = await Promise.all(answers)
    expect(bodies.length).toBeGreaterThan(0)
    expect(bodies.filter((body) => body.includes(before.app_secret))).toEqual([])
  })

  step(
    'keeps a working secret if the vendor refuses the new one, unless it is to be saved anyway',
    async () => {
      const before = await savedFor(8)
      const accepted = card('Honor').getByText('Honor accepts these credentials.')
      await accepted.waitFor()
      await setFaults('honor', { refuseAuth: true })
      await card('Honor').getByRole('button', { name: 'Edit' }).click()
      await form().getByLabel('Client secret').fill('rubbish')
      await button('Check and save').click()
      const question = page.getByRole('dialog', { name: 'Replace the credentials of Honor?' })
      // Enter must not replace anything.
      await until(async () => (await page.evaluate(() => document.activeElement?.textContent)) === 'Back')
      await question.getByRole('button', { name: 'Check and replace' }).click()
      await form().getByText('Honor refuses these credentials.').waitFor()
      await form()
        .getByText(/^The vendor refuses the credentials/)
        .waitFor()
      await form().getByText('Nothing was saved. The present credentials stay in use.').waitFor()
      expect(await savedFor(8)).toEqual(before)

      await button('Save anyway').click()
      await page.getByText('Credentials of Honor saved.').waitFor()
      await card('Honor').getByText('not checked yet', { exact: true }).waitFor()
      // That was said of the former credentials.
      expect(await accepted.count()).toBe(0)
      expect((await savedFor(8)).app_secret).toBe('rubbish')

      await setFaults('honor', {})
      await card('Honor').getByRole('button', { name: 'Edit' }).click()
      await form().getByLabel('Client secret').fill(before.app_secret)
      await button('Check and save').click()
      await question.getByRole('button', { name: 'Check and replace' }).click()
      await page.getByText('Credentials of Honor saved.').waitFor()
      await card('Honor').getByText('working', { exact: true }).waitFor()
    },
  )

  step('does not lose what was typed by a click beside the dialog or by Escape', async () => {
    await button('Add credentials').click()
    await form().waitFor()
    await page.keyboard.press('Escape')
    await form().waitFor({ state: 'hidden' })
    await button('Add credentials').click()
    await form().getByLabel('Vendor').selectOption({ label: 'Xiaomi' })
    await form().getByLabel('App secret').fill('typed')
    await page.mouse.click(5, 400)
    await page.keyboard.press('Escape')
    expect(await form().getByLabel('App secret').inputValue()).toBe('typed')
  })

  step(
    'has required fields in front, the package name filled in, and either of two secrets as a choice',
    async () => {
      expect(await form().getByLabel('Package name').inputValue()).not.toBe('')
      expect(await form().getByLabel('Package name').isVisible()).toBe(true)
      await form().getByText('Xiaomi already has credentials here').waitFor()
      await form().getByLabel('Vendor').selectOption({ label: 'Huawei' })
      expect(await form().getByLabel('Environment').count()).toBe(0)
      await form().getByLabel('Client secret', { exact: true }).waitFor()
      expect(await form().getByLabel('Service account (JSON)').count()).toBe(0)
      // What is wrong is still said when the field is left.
      await form().getByText('More settings').click()
      await form().getByLabel('Limits and classes (JSON)').fill('{"limits": ')
      await page.keyboard.press('Tab')
      await form().getByText('Enter a valid JSON object.').waitFor()
      await form().getByLabel('Limits and classes (JSON)').fill('')
      await form().getByLabel('Sign in with').selectOption({ label: 'Service account (JSON)' })
      await form().getByRole('textbox', { name: 'Service account (JSON)' }).waitFor()
      expect(await form().getByLabel('Client secret', { exact: true }).count()).toBe(0)
      await form().getByRole('button', { name: 'Edit the existing ones' }).click()
      await page.getByRole('heading', { name: 'Edit credentials of Huawei' }).waitFor()
      await button('Cancel').click()
    },
  )

  step('marks the field that Herald refuses, and reads a valid key from a file', async () => {
    await button('Add credentials').click()
    await form().getByLabel('Vendor').selectOption({ label: 'FCM' })
    await form().getByRole('textbox', { name: 'Service account (JSON)' }).fill('{"type":"service_account"')
    await button('Check and save').click()
    await page
      .getByRole('dialog', { name: 'Replace the credentials of FCM?' })
      .getByRole('button', { name: 'Check and replace' })
      .click()
    await form()
      .getByText(
        'certificate is not valid JSON: paste the complete service-account file from the Firebase console.',
      )
      .waitFor()
    expect(
      await form().getByRole('textbox', { name: 'Service account (JSON)' }).getAttribute('aria-invalid'),
    ).toBe('true')
    expect(tab.failedRequests.splice(0)).toEqual(['400 PUT /admin/push/certificate'])

    await form().getByLabel('Vendor').selectOption({ label: 'APNs: Signing key (.p8)' })
    await form().getByLabel('Environment').selectOption({ label: 'development' })
    await form().getByLabel('Name (optional)').fill('Walked')
    await form().getByLabel('Bundle ID', { exact: true }).fill('com.example.walked')
    await form().getByLabel('Key ID').fill('ABCDE12345')
    await form().getByLabel('Team ID').fill('FGHIJ67890')
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const chooser = page.waitForEvent('filechooser')
    await form()
      .getByRole('button', { name: /^Read from file/ })
      .click()
    await (await chooser).setFiles({ name: 'AuthKey.p8', mimeType: 'text/plain', buffer: Buffer.from(key) })
    const field = form().getByRole('textbox', { name: 'Signing key (.p8)' })
    await until(async () => (await field.inputValue()) === key)
    // A key of the JSON text has no input of its own.
    await form().getByText('More settings').click()
    const further = form().getByLabel('Limits and classes (JSON)')
    await further.fill('{"limits": {"daily_quota": -1}}')
    await button('Check and save').click()
    await form()
      .getByRole('alert')
      .getByText(/^extra\.limits\.daily_quota /)
      .waitFor()
    expect(tab.failedRequests.splice(0)).toEqual(['400 PUT /admin/push/certificate'])
    await further.fill('')
    await button('Check and save').click()
    await page.getByText('Credentials of APNs saved.').waitFor()
    await card('APNs, development').getByText('Walked · development').waitFor()
  })

  step('forgets the result of a check when the credentials are removed', async () => {
    const apns = card('APNs, development')
    const accepted = apns.getByText('APNs accepts these credentials.')
    await apns.getByRole('button', { name: 'Check now' }).click()
    await accepted.waitFor()
    const saved = await herald.call<Credentials>('/push/certificate?provider=1&environment=0')
    await apns.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove credentials' }).click()
    await apns.waitFor({ state: 'detached' })
    await herald.call('/admin/push/certificate', { provider: 1, environment: 0, ...saved }, 'PUT')
    // After a check the page reads all credentials.
    await card('Honor').getByRole('button', { name: 'Check now' }).click()
    await apns.waitFor()
    expect(await accepted.count()).toBe(0)
  })

  step('shows what a vendor refuses, and that a simulator answered the check', async () => {
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
      { what: 'the hold' },
    )
    await open('/certificates')
    // It comes after the page and moves what is below it.
    const alert = page.locator('[data-alert="held"]')
    await alert.waitFor()
    const oppo = card('OPPO, Mainland China')
    await oppo.getByText('part refused', { exact: true }).waitFor()
    await oppo.getByText('class service', { exact: true }).waitFor()
    await oppo.getByText(/^oppo\.67: 67 /).waitFor()
    await oppo.getByText(/^Such messages are not sent until .*; all others are\.$/).waitFor()
    await oppo.getByText(/^extra\.classes\.service\.category is not set/).waitFor()
    // The panel says it in the reader's language.
    expect(await oppo.getByText(/^OPPO has refused messages/).count()).toBe(0)

    await setFaults('honor', { refuseAuth: true })
    const honor = card('Honor')
    await honor.getByRole('button', { name: 'Check now' }).click()
    await honor.getByText('Honor refuses these credentials.').waitFor()
    await honor.getByText('Answered by a simulator, not by the vendor.').waitFor()
    await honor.getByText(/^Check failed at /).waitFor()
    await honor.getByText('working', { exact: true }).waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await setFaults('honor', { unavailable: 1 })
    await honor.getByRole('button', { name: 'Check now' }).click()
    await honor.getByText('Honor could not be asked. Try again later.').waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await setFaults('honor', {})

    await open('')
    // The API keeps figures longer the longer it takes to read them.
    await page.getByText('Refused parts: class service').waitFor()

    await setFaults('oppo', {})
    await open('/certificates')
    await alert.waitFor()
    await oppo.getByRole('button', { name: 'Check now' }).click()
    await oppo.getByText('working', { exact: true }).waitFor()
    expect(await oppo.getByText('class service', { exact: true }).count()).toBe(0)
  })

  step('shows how much of the daily quota is used', async () => {
    await herald.call(
      '/admin/push/certificate',
      {
        provider: 'vivo',
        app_id: '100001',
        keep: ['app_key', 'app_secret'],
        // vivo takes service messages at night too.
        extra: { default_class: 'service', limits: { daily_quota: 1000 } },
      },
      'PUT',
    )
    await herald.call('/push/notify', {
      audience: { tag: ['demo'] },
      setting: { distribution_strategy: 'ospush_only', ospush_sequence: ['vivo'] },
      message: { title: 'Counted', body: 'x' },
    })
    type Listed = { channel: string; usage: { devices: number }[] }
    await until(
      async () =>
        (await herald.call<Listed[]>('/admin/push/certificate/list')).some(
          ({ channel, usage }) => channel === 'vivo' && usage.some(({ devices }) => devices > 0),
        ),
      { what: 'the used quota' },
    )
    await open('/certificates')
    await card('vivo')
      .getByText(/^Service today: \d+ devices, 99\d left$/)
      .waitFor()
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
    await page.getByText('Saved.').waitFor()
    const tagged = await herald.call<{ list: Device[] }>('/admin/device/list', { tag: 'walked' })
    expect(tagged.list.map(({ tags }) => tags)).toEqual([['demo', 'ios', 'vip', 'walked']])

    await button('Explain').click()
    await page.getByText('demo-iphone would receive it through APNs.').waitFor()
    await button('Send test push').click()
    await page.getByText(/^Task \d+ accepted/).waitFor()
  })

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
    await page.getByLabel('App version').focus()
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
    // The word may still be that of the save before.
    await until(async () => (await deviceNow(guid))?.alias === null, { what: 'the second save' })
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

  step('says that a search is exact, counts, and asks once', async () => {
    await open('/devices')
    await page.getByText(/^\d+ devices$/).waitFor()
    await page.getByLabel('Search for').fill('demo-')
    await button('Search').click()
    await page.getByText('The search compares the whole text, capitals included.').waitFor()
    await page.getByLabel('Search by').selectOption({ label: 'User ID' })
    await page.getByLabel('Search for').fill('abc')
    await button('Search').click()
    await page
      .getByRole('alert')
      .getByText(/^user_id /)
      .waitFor()
    expect(tab.failedRequests.splice(0)).toEqual(['400 POST /admin/device/list'])
  })

  step('suggests tags with the number of their devices', async () => {
    await open('/device?guid=demo-pixel')
    await page.getByRole('combobox', { name: 'Tags' }).fill('vi')
    await page.getByRole('option', { name: 'vip 3 devices' }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await button('Save').click()
    await page.getByText('Saved.').waitFor()
    expect((await deviceNow('demo-pixel'))?.tags).toContain('vip')
    // All labels are shown, not only in the form.
    await page.getByRole('region', { name: 'Details' }).getByText('vip', { exact: true }).waitFor()
    await herald.call('/admin/device', { device_guid: 'demo-pixel', remove_tags: ['vip'] }, 'PUT')
  })

  step(
    'shows credentials, devices and reasons of vendors in Chinese, in the dark and on a phone',
    async () => {
      await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' })
      await page.evaluate(() => localStorage.setItem('herald.language', 'zh'))
      await page.setViewportSize({ width: 390, height: 844 })
      await open('/certificates')
      await button('全部验证').waitFor()
      const listed = page.waitForResponse((response) => response.url().endsWith('/certificate/list'))
      await button('全部验证').click()
      // When all vendors have answered; each answer moves the cards below.
      await listed
      await card('vivo').getByText('vivo：凭据有效。').waitFor()
      await card('vivo').getByText('正常', { exact: true }).waitFor()
      expect(await englishTexts(page)).toEqual([])
      expect(await accessibilityProblems(page)).toEqual([])
      expect(await overflows(page)).toBe(false)
      await card('OPPO, 中国大陆').getByRole('button', { name: '编辑OPPO' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('更多设置').click()
      await dialog.getByLabel('正文长度上限').selectOption({ label: '200 个字符，仅限旧合同' })
      expect(await englishTexts(page)).toEqual([])
      expect(await accessibilityProblems(page)).toEqual([])
      await dialog.getByRole('button', { name: '取消' }).click()

      await setFaults('honor', { refuseAuth: true })
      const honor = card('荣耀')
      await honor.getByRole('button', { name: '立即验证' }).click()
      await honor.getByText('荣耀：凭据被拒绝。').waitFor()
      await honor.getByText(/ 验证失败$/).waitFor()
      await until(async () => (await honor.getByText(/^厂商拒绝了凭据/).count()) === 2)
      expect(await englishTexts(page)).toEqual([])
      await setFaults('honor', {})
      await button('添加通道').click()
      await dialog.getByLabel('厂商').selectOption({ label: 'FCM' })
      await dialog.getByRole('textbox', { name: /JSON/ }).first().fill('{"type":"service_account"')
      await dialog.getByRole('button', { name: '验证并保存' }).click()
      await page.getByRole('button', { name: '验证并替换' }).click()
      await dialog.getByText('不是有效的 JSON，请粘贴完整的文件内容').waitFor()
      expect(await englishTexts(page)).toEqual([])
      expect(tab.failedRequests.splice(0)).toEqual(['400 PUT /admin/push/certificate'])
      await dialog.getByRole('button', { name: '取消' }).click()

      await open('/device?guid=demo-oppo')
      await button('查询').click()
      await page.getByText(/^消息没有类别（message\.oppo\.category/).waitFor()
      expect(await englishTexts(page)).toEqual([])
      expect(await overflows(page)).toBe(false)

      const id = await push({
        audience: { push_token: [await killTokens('vivo', 'demo-vivo-1')] },
        setting: { distribution_strategy: 'ospush_only' },
        message: { title: 'To a dead token' },
      })
      await open(`/tasks/${id}`)
      await page.getByText('令牌已失效').first().waitFor()
      await page
        .getByText(/^应用已卸载或令牌已更换。/)
        .first()
        .waitFor()
      await page
        .getByText(/^vivo\./)
        .first()
        .waitFor()
      expect(await englishTexts(page)).toEqual([])
    },
  )

  endsClean()
})
