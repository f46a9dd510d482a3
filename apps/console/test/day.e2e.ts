import { until } from '@herald/testkit'
import { describeInBrowser } from '@herald/testkit/browser'
import { expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import type { Dictionary } from '../src/i18n/en.ts'
import { en } from '../src/i18n/en.ts'
import { zh } from '../src/i18n/zh.ts'
import { type Hand, keyboard, mouse } from './hands.ts'
import { accessibilityProblems, englishTexts } from './page-checks.ts'
import type { TestConsole } from './test-console.ts'
import { createWalk } from './walk.ts'

const languages = { en, zh } as const
const hands = { mouse, keyboard } as const

/** A text with its parts filled in. */
const filled = (text: string, values: Record<string, string | number>) =>
  text.replaceAll(/{{(\w+)}}/g, (_, name: string) => String(values[name]))

/**
 * The work of an operator's day, from signing in to signing out: with the mouse in English, and with the keyboard alone in Chinese. The parts of
 * it are checked in detail by the other browser specs.
 */
describeInBrowser('the day of an operator', () => {
  let herald: TestConsole
  const { step, push, setFaults, taskNow, count } = createWalk({
    signedIn: false,
    seconds: 900,
    onOpen(opened) {
      herald = opened.herald
    },
  })

  const walks = [
    ['en', 'mouse'],
    ['zh', 'keyboard'],
  ] as const
  for (const [language, hand] of walks)
    step(`is done by ${hand} in ${language === 'en' ? 'English' : 'Chinese'}`, async () => {
      const locale = language === 'en' ? 'en-US' : 'zh-CN'
      const tab = await herald.openTab({ locale, acceptDownloads: true })
      const title = `Day ${language} ${hand}`
      await walk({ page: tab.page, hand: hands[hand](tab.page), t: languages[language], title })
      expect([tab.failedRequests, tab.errors]).toEqual([[], []])
      await tab.close()
    })

  type Walk = { page: Page; hand: Hand; t: Dictionary; title: string }

  async function walk({ page, hand, t, title }: Walk): Promise<void> {
    const heading = (name: string) => page.getByRole('heading', { name, exact: true })
    const region = (name: string) => page.getByRole('region', { name, exact: true }).first()
    const dialog = page.getByRole('dialog')
    const menu = async (name: string, title = name) => {
      await hand.press(page.getByRole('navigation').getByRole('link', { name, exact: true }))
      await heading(title).waitFor()
    }
    const button = (name: string) => page.getByRole('button', { name, exact: true })

    // In the morning a vendor refuses the credentials.
    await setFaults('honor', { refuseAuth: true })
    await push({
      audience: { tag: ['demo'] },
      setting: { distribution_strategy: 'ospush_only', ospush_sequence: ['honor'] },
      message: { title: 'In the night' },
    })
    type Certificate = { channel: string; state: string }
    const stateOf = async (channel: string) =>
      (await herald.call<Certificate[]>('/admin/push/certificate/list')).find(
        (one) => one.channel === channel,
      )?.state
    await until(async () => (await stateOf('honor')) === 'closed', { what: 'the refusal' })

    const { devices } = await count('all')
    await page.goto(herald.url('/'))
    await hand.type(page.getByLabel(t.signIn.operatorKey), herald.demo.operator_key)
    await hand.press(button(t.signIn.submit))
    await heading(t.nav.overview).waitFor()

    // The bar leads to the credentials; the vendor is asked again.
    const alert = page.locator('[data-alert="closed"]')
    await alert.waitFor()
    await hand.press(alert.getByRole('link'))
    await heading(t.nav.certificates).waitFor()
    const honor = page.getByRole('region', { name: t === zh ? '荣耀' : 'Honor', exact: true })
    await honor.getByText(t.certificateState.closed, { exact: true }).waitFor()
    expect(await englishTextsIn(page, t)).toEqual([])
    await setFaults('honor', {})
    await hand.press(honor.getByRole('button', { name: t.certificates.check }))
    await honor.getByText(t.certificateState.sending, { exact: true }).waitFor()
    // It would move what is pressed next.
    await alert.waitFor({ state: 'detached' })

    // A push is written, looked at and sent. It cannot end before it is stopped.
    await setFaults('vivo', { throttle: 1 })
    await menu(t.nav.send, t.send.title)
    await hand.type(page.getByRole('textbox', { name: t.send.messageTitle, exact: true }), title)
    await hand.type(page.getByRole('textbox', { name: t.send.body, exact: true }), 'A body')
    await hand.choose(page.getByLabel(t.send.audienceKind), t.send.audienceAll)
    await hand.type(page.getByLabel(t.send.speed), '1')
    await hand.press(button(t.send.review))
    const size = filled(t.send.size, { n: devices })
    await dialog.getByText(size, { exact: true }).waitFor()
    await hand.type(dialog.getByLabel(filled(t.app.typeToConfirm, { name: devices })), String(devices))
    expect(await englishTextsIn(page, t)).toEqual([])
    await hand.press(dialog.getByRole('button', { name: filled(t.review.send, { devices: size }) }))
    await heading(title).waitFor()
    const id = Number(/\/tasks\/(\d+)$/.exec(page.url())?.[1])

    // It is paused, resumed and stopped.
    const state = (name: string) => region(t.tasks.progress).getByText(name, { exact: true }).first()
    await hand.press(button(t.task.pause))
    await state(t.taskState.paused).waitFor()
    expect((await taskNow(id))?.state).toBe('paused')
    await hand.press(button(t.task.resume))
    await button(t.task.pause).waitFor()
    await until(async () => ((await taskNow(id))?.sent ?? 0) > 0, { what: 'a device' })
    await hand.press(button(t.task.cancel))
    await dialog.waitFor()
    await hand.press(dialog.getByRole('button', { name: t.task.cancelButton, exact: true }))
    await state(t.taskState.cancelled).waitFor()
    await page.locator('tr[data-fate="cancelled"]').waitFor()
    await setFaults('vivo', {})
    expect(await englishTextsIn(page, t)).toEqual([])

    // Did this person get it?
    const find = region(t.task.find)
    await hand.choose(find.getByLabel(t.devices.by), t.devices.byAlias)
    await hand.type(find.getByLabel(t.devices.value), 'bob')
    await hand.press(find.getByRole('button', { name: t.devices.search }))
    await find.getByRole('article').first().waitFor()
    await hand.press(find.getByRole('article').first().getByRole('link').first())
    await page.locator(`tr[data-task="${id}"]`).waitFor()
    expect(await englishTextsIn(page, t)).toEqual([])

    // The list, its export, the statistics and the record of all this.
    await menu(t.nav.tasks)
    await hand.type(page.getByLabel(t.tasks.filters.title), title)
    await hand.press(button(t.tasks.filter))
    const rows = page.getByRole('table', { name: t.nav.tasks }).locator('tbody tr')
    await until(async () => (await rows.count()) === 1)
    const download = page.waitForEvent('download')
    await hand.press(button(t.tasks.export))
    expect((await download).suggestedFilename()).toBe('tasks.csv')
    await menu(t.nav.statistics)
    await page.locator('[data-total="sent"]').waitFor()
    await menu(t.nav.audit)
    await page.locator('tr[data-action="task.cancel"]').first().waitFor()
    expect(await englishTextsIn(page, t)).toEqual([])
    expect(await accessibilityProblems(page)).toEqual([])

    await hand.press(page.getByRole('button', { name: filled(t.app.account, { name: t.app.operator }) }))
    await hand.select(page.getByRole('menuitem', { name: t.app.signOut }))
    await heading(t.signIn.title).waitFor()
  }

  const englishTextsIn = (page: Page, t: Dictionary) => (t === zh ? englishTexts(page) : Promise.resolve([]))
})
