import { until } from '@herald/testkit'
import type { Locator, Page } from 'playwright-core'

/** How a person uses the page. */
export type Hand = {
  /** A button or a link. */
  press(target: Locator): Promise<void>
  /** Replaces the text of a field. */
  type(field: Locator, text: string): Promise<void>
  /** An option of a select. */
  choose(select: Locator, option: string): Promise<void>
  /** An item of an open menu. */
  select(item: Locator): Promise<void>
}

export const mouse = (): Hand => ({
  press: (target) => target.click(),
  async type(field, text) {
    await field.click()
    await field.fill(text)
  },
  async choose(select, option) {
    await select.selectOption({ label: option })
  },
  select: (item) => item.click(),
})

/** More elements than any page has before the one that is looked for. */
const MAX_TABS = 250

/** Keys only: what Tab does not reach, or what loses the focus on the way, cannot be used. */
export function keyboard(page: Page): Hand {
  const isFocused = (target: Locator) => target.evaluate((element) => element === document.activeElement)

  async function reach(target: Locator): Promise<void> {
    await target.waitFor({ state: 'visible' })
    // The nearer way.
    const isBehind = await target.evaluate((element) => {
      const place = document.activeElement?.compareDocumentPosition(element) ?? 0
      return (place & Node.DOCUMENT_POSITION_PRECEDING) !== 0
    })
    for (let tabs = 0; tabs < MAX_TABS; tabs++) {
      if (await isFocused(target)) return
      await page.keyboard.press(isBehind ? 'Shift+Tab' : 'Tab')
    }
    throw new Error(`The keyboard does not reach ${String(target)}.`)
  }

  return {
    async press(target) {
      await until(() => target.isEnabled(), { what: `${String(target)} is enabled` })
      await reach(target)
      await page.keyboard.press('Enter')
    },
    async type(field, text) {
      await reach(field)
      await page.keyboard.press('ControlOrMeta+a')
      await page.keyboard.type(text)
    },
    async choose(select, option) {
      await reach(select)
      const chosen = () =>
        select.evaluate((element) => (element as HTMLSelectElement).selectedOptions[0]?.label)
      const count = await select.locator('option').count()
      // From the first one down.
      for (let i = 0; i < count; i++) await page.keyboard.press('ArrowUp')
      for (let i = 0; i < count && (await chosen()) !== option; i++) await page.keyboard.press('ArrowDown')
      if ((await chosen()) !== option) throw new Error(`The select has no option ${option}.`)
    },
    async select(item) {
      await item.waitFor()
      for (let presses = 0; presses < 30 && !(await isFocused(item)); presses++)
        await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')
    },
  }
}
