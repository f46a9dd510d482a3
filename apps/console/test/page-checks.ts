import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { untranslated } from './dictionary.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Findings of axe, one per line: serious and critical ones and all of the rules `also`, or only those of the rules `only`. */
export async function accessibilityProblems(
  page: Page,
  { only, also = [] }: { only?: string[]; also?: string[] } = {},
): Promise<string[]> {
  // The debugger may evaluate scripts in spite of the page's content security policy.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(`${axe}; undefined`)
  return page.evaluate(
    async ({ only, also }) => {
      const { axe } = window as unknown as { axe: { run(options: object): Promise<AxeResults> } }
      const { violations } = await axe.run({ resultTypes: ['violations'], runOnly: only })
      return violations
        .filter(
          ({ id, impact }) => only || also.includes(id) || impact === 'serious' || impact === 'critical',
        )
        .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
    },
    { only, also },
  )
}

/**
 * Texts and labels of the page that are English texts of the dictionary. Titles of pushes and reasons of vendors are not
 * translated; they are marked with `data-from`.
 */
export async function englishTexts(page: Page): Promise<string[]> {
  const texts = await page.evaluate(() => {
    const found = [document.title.split(' · ')[0] ?? '']
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (!node.parentElement?.closest('[data-from="api"], script, style')) found.push(node.textContent ?? '')
    }
    for (const element of document.querySelectorAll('*'))
      for (const name of ['aria-label', 'title', 'placeholder', 'alt'])
        found.push(element.getAttribute(name) ?? '')
    return found
  })
  return texts.map((text) => text.trim()).filter((text) => untranslated.some((pattern) => pattern.test(text)))
}

/** Returns whether the page is wider than its window. */
export function overflows(page: Page): Promise<boolean> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    return scrollWidth > clientWidth + 1
  })
}

/** Labels of tables that are wider than their place; with `marked` only those that do not say so to a keyboard and a screen reader. */
export function cutTables(page: Page, { marked = false } = {}): Promise<string[]> {
  return page.evaluate((marked) => {
    const isCut = (box: Element) => box.scrollWidth > box.clientWidth + 1
    const isMarked = (box: Element) => box.getAttribute('tabindex') === '0' && box.hasAttribute('aria-label')
    return [...document.querySelectorAll('.scroll')]
      .filter((box) => isCut(box) && !(marked && isMarked(box)))
      .map((box) => box.querySelector('table')?.getAttribute('aria-label') ?? '')
  }, marked)
}
