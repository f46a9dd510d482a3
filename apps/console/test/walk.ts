import { setTimeout } from 'node:timers/promises'
import type { AudienceCount } from '@herald/client'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, expect, jest } from '@jest/globals'
import type { Locator, Page, Route } from 'playwright-core'
import { createSteps } from './steps.ts'
import { startTestConsole, type Tab, type TestConsole } from './test-console.ts'

export type TaskRow = {
  task_id: number
  state: string
  title: string | null
  campaign: string | null
  target: number
  sent: number
  received: number
  clicked: number
  pending: number
}

export type Opened = { herald: TestConsole; tab: Tab; page: Page }

type Options = {
  /** Environment variables of the standalone. */
  settings?: Record<string, string>
  /** False: the walk begins at the sign-in page. */
  signedIn?: boolean
  /** Limit of a step. */
  seconds?: number
  onOpen(opened: Opened): void
}

/** What the browser specs share: a standalone with its demo, a tab, steps that continue where the previous one ended, and short names. */
export function createWalk({ settings, signedIn = true, seconds = 600, onOpen }: Options) {
  jest.setTimeout(seconds * 1000)
  let herald: TestConsole
  let tab: Tab
  let page: Page
  beforeAll(async () => {
    herald = await startTestConsole(settings)
    tab = await (signedIn ? herald.openOperatorTab() : herald.openTab())
    page = tab.page
    onOpen({ herald, tab, page })
  })
  afterAll(async () => {
    await herald?.close()
  })
  const step = createSteps()
  const show = async (url: string) => {
    await page.goto(url)
    await page.locator('h1').waitFor()
  }
  return {
    step,
    button: (name: string | RegExp, within: Page | Locator = page) =>
      within.getByRole('button', { name, exact: typeof name === 'string' }),
    heading: (name: string) => page.getByRole('heading', { name, exact: true }),
    region: (name: string) => page.getByRole('region', { name, exact: true }).first(),
    dialog: () => page.getByRole('dialog'),
    /** Opens a page of the demo application. */
    open: (path: string) => show(herald.appUrl(path)),
    /** Holds back the answer to the next request of a path. `asked`: the page has sent it. */
    hold: async (path: string) => {
      const asked = Promise.withResolvers<void>()
      const released = Promise.withResolvers<void>()
      const answer = async (route: Route) => {
        asked.resolve()
        await released.promise
        await route.continue()
      }
      await page.route(`**${path}`, answer, { times: 1 })
      return { asked: asked.promise, release: released.resolve }
    },
    /** Opens a path without an application. */
    openPath: (path: string) => show(herald.url(path)),
    push: async (body: object) => (await herald.call<TaskRow>('/push/notify', body)).task_id,
    taskNow: async (id: number) =>
      (await herald.call<{ list: TaskRow[] }>('/push/task/list', { task_ids: [id] })).list[0],
    /** Counts an audience, before a page does: an application may make two such calls at a time. */
    count: async (audience: unknown): Promise<AudienceCount> => {
      for (;;) {
        try {
          return await herald.call<AudienceCount>('/push/audience/count', { audience })
        } catch (error) {
          if (!String(error).includes(' 42901 ')) throw error
          await setTimeout(500)
        }
      }
    },
    /** Lets the simulator of a vendor fail, or work again with `{}`. */
    setFaults: (channel: string, faults: object) =>
      fetch(`${herald.demo.simulators[channel]}/_sim/faults`, {
        method: 'POST',
        body: JSON.stringify(faults),
      }),
    /** The vendor reports the tokens of a device as dead; returns its push token. */
    killTokens: async (channel: string, guid: string) => {
      type Found = {
        list: { push_token: string; bindings: { channel: string; device_token: string }[] }[]
      }
      const [device] = (await herald.call<Found>('/admin/device/list', { device_guid: guid })).list
      const tokens = device!.bindings
        .filter((binding) => binding.channel === channel)
        .map(({ device_token }) => device_token)
      await fetch(`${herald.demo.simulators[channel]}/_sim/dead`, {
        method: 'POST',
        body: JSON.stringify({ tokens }),
      })
      return device!.push_token
    },
    signIn: async () => {
      await page.getByLabel('Operator key').fill(herald.demo.operator_key)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('button', { name: /^Account: / }).waitFor()
    },
    /** Waits until the focus is in an element that matches `selector`. */
    untilFocusIn: (selector: string) =>
      until(() => page.evaluate((within) => document.activeElement?.closest(within) != null, selector), {
        what: `the focus in ${selector}`,
      }),
    /** The last step: what the steps caused on purpose they have taken out. */
    endsClean: () =>
      step('caused no failed requests and no errors', () => {
        expect(tab.failedRequests).toEqual([])
        expect(tab.errors).toEqual([])
      }),
  }
}
