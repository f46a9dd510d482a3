import { posix } from 'node:path'
import { linksOf, type Page } from './docs-links.ts'

/** What a page and its translation have in common. `line` counts from 1. */
type Part =
  | { kind: 'anchor'; line: number; id: string }
  /** A comment of Markdown: the begin or end of a generated section. */
  | { kind: 'comment'; line: number; text: string }
  | { kind: 'code block'; line: number; info: string; lines: string[] }
  | { kind: 'table'; line: number; rows: string[] }

/** A heading with what follows it. What comes before the first heading has the level 0. */
type Section = { line: number; level: number; parts: Part[] }

/** Where the Chinese version of a page of docs/ is. */
export const translationPath = (path: string) => path.replace(/^docs\//, 'docs/zh/')

/**
 * One sentence for every difference in structure: headings, anchors, code, tables, the links to the other language. Texts are not compared.
 * After a difference the rest of its section is not compared, and after one of the headings the rest of the page, because nothing there belongs
 * together any more.
 */
export function findDifferences(page: Page, translation: Page): string[] {
  const [own, other] = [sectionsOf(page.text), sectionsOf(translation.text)]
  const ends = Array.from({ length: Math.max(own.length, other.length) }, (_, at) => at).find(
    (at) => own[at]?.level !== other[at]?.level,
  )
  return [
    ...languageLinkMistakes(page, translation),
    ...own
      .slice(0, ends)
      .flatMap((section, at) => differencesOfSections(page, section, translation, other[at]!)),
    ...(ends === undefined ? [] : [headingDifference(page, own, translation, other, ends)]),
  ]
}

/** Links of a Chinese page to the English version of a page that has a Chinese one; the link to its own English version is none. */
export function findEnglishLinks(page: Page, hasTranslation: (path: string) => boolean): string[] {
  return linksOf(page.text).flatMap(({ target, line }) => {
    const path = posix.join(posix.dirname(page.path), target.split('#')[0]!)
    const chinese = translationPath(path)
    if (chinese === path || !hasTranslation(path)) return []
    if (chinese === page.path && line === LINK_LINE) return []
    return [`${page.path}:${line} links to ${path}, which is ${chinese} in Chinese`]
  })
}

/** The line of the link to the other language, after the title. */
const LINK_LINE = 3

function languageLinkMistakes(page: Page, translation: Page): string[] {
  const link = (name: string, from: Page, to: Page) => {
    const wanted = ['', `[${name}](${posix.relative(posix.dirname(from.path), to.path)})`, '']
    const found = from.text.split('\n').slice(LINK_LINE - 2, LINK_LINE + 1)
    return found.join('\n') === wanted.join('\n')
      ? []
      : [`${from.path}:${LINK_LINE} must be ${wanted[1]}, between empty lines, for ${to.path}:1`]
  }
  return [...link('简体中文', page, translation), ...link('English', translation, page)]
}

function headingDifference(page: Page, own: Section[], translation: Page, other: Section[], at: number) {
  const [here, there] = [own[at], other[at]]
  if (here && there)
    return `${translation.path}:${there.line} has a heading of level ${there.level}, but ${page.path}:${here.line} has one of level ${here.level}`
  return here
    ? `${page.path}:${here.line} has a heading that is missing after ${translation.path}:${other.at(-1)!.line}`
    : `${translation.path}:${there!.line} has a heading that is missing after ${page.path}:${own.at(-1)!.line}`
}

function differencesOfSections(page: Page, own: Section, translation: Page, other: Section): string[] {
  const found: string[] = []
  for (let at = 0; at < Math.max(own.parts.length, other.parts.length); at++) {
    const [here, there] = [own.parts[at], other.parts[at]]
    if (!here) return [...found, missing(translation, there!, page, own)]
    if (!there) return [...found, missing(page, here, translation, other)]
    const difference = differenceOf(here, there)
    if (!difference) continue
    const [line, lineThere, text] = difference
    found.push(`${translation.path}:${lineThere} and ${page.path}:${line}: ${text}`)
    if (here.kind !== there.kind) return found
  }
  return found
}

function missing(page: Page, { line, kind }: Part, without: Page, section: Section): string {
  return `${page.path}:${line}: this ${kind} is missing in the section at ${without.path}:${section.line}`
}

type Difference = [line: number, lineThere: number, text: string]

function differenceOf(here: Part, there: Part): Difference | undefined {
  const differ = (text: string): Difference => [here.line, there.line, text]
  if (here.kind === 'anchor' && there.kind === 'anchor')
    return here.id === there.id ? undefined : differ(`the anchors ${there.id} and ${here.id} differ`)
  if (here.kind === 'comment' && there.kind === 'comment')
    return here.text === there.text ? undefined : differ('the comments differ')
  if (here.kind === 'code block' && there.kind === 'code block') return differenceOfCode(here, there)
  if (here.kind === 'table' && there.kind === 'table') return differenceOfTables(here, there)
  return differ(`${there.kind} instead of ${here.kind}`)
}

function differenceOfCode(
  here: Part & { kind: 'code block' },
  there: Part & { kind: 'code block' },
): Difference | undefined {
  if (here.info !== there.info)
    return [here.line, there.line, `code blocks of "${there.info}" and "${here.info}"`]
  const at = here.lines.findIndex(
    (line, index) => codeOf(line, here.info) !== codeOf(there.lines[index] ?? '', here.info),
  )
  if (at !== -1 && at < there.lines.length)
    return [here.line + 1 + at, there.line + 1 + at, 'the code differs']
  return here.lines.length === there.lines.length
    ? undefined
    : [here.line, there.line, `code blocks of ${there.lines.length} and ${here.lines.length} lines`]
}

/** A line without the text of its comment. JSON has no comments, and neither has a block without a language. */
function codeOf(line: string, info: string): string {
  if (info === '' || info === 'json') return line
  return line.replace(/^(\s*(?:#|\/\/|--)) .*$/, '$1').replace(/(\s(?:#|\/\/)) .*$/, '$1')
}

function differenceOfTables(
  here: Part & { kind: 'table' },
  there: Part & { kind: 'table' },
): Difference | undefined {
  if (here.rows.length !== there.rows.length)
    return [here.line, there.line, `tables of ${there.rows.length} and ${here.rows.length} lines`]
  for (const [at, row] of here.rows.entries()) {
    const [cells, cellsThere] = [cellsOf(row), cellsOf(there.rows[at]!)]
    const lines = [here.line + at, there.line + at] as const
    if (cells.length !== cellsThere.length)
      return [...lines, `rows of ${cellsThere.length} and ${cells.length} cells`]
    const [names, namesThere] = [codeIn(cells[0]!), codeIn(cellsThere[0]!)]
    if (names !== namesThere) return [...lines, `the rows are named ${namesThere} and ${names}`]
  }
  return undefined
}

const cellsOf = (row: string) =>
  row
    .trim()
    .slice(1, -1)
    .split(/(?<!\\)\|/)

const codeIn = (cell: string) => (cell.match(/`[^`]+`/g) ?? []).join(' ')

function sectionsOf(text: string): Section[] {
  const sections: Section[] = [{ line: 1, level: 0, parts: [] }]
  const add = (part: Part) => sections.at(-1)!.parts.push(part)
  const lines = text.split('\n')
  for (let at = 0; at < lines.length; at++) {
    const here = lines[at]!
    const line = at + 1
    const [, mark, info = ''] = /^\s*(`{3,}|~{3,})\s*(.*)$/.exec(here) ?? []
    if (mark !== undefined) {
      const after = lines.slice(line)
      const length = after.findIndex((other) => other.trim().startsWith(mark))
      const content = length === -1 ? after : after.slice(0, length)
      add({ kind: 'code block', line, info, lines: content })
      at += content.length + 1
      continue
    }
    if (here.trimStart().startsWith('|') && /^\s*\|[\s:|-]+\|\s*$/.test(lines[line] ?? '')) {
      const after = lines.slice(at)
      const length = after.findIndex((other) => !other.trimStart().startsWith('|'))
      const rows = length === -1 ? after : after.slice(0, length)
      add({ kind: 'table', line, rows })
      at += rows.length - 1
      continue
    }
    const level = /^(#{1,6})\s/.exec(here)?.[1]?.length
    if (level !== undefined) sections.push({ line, level, parts: [] })
    for (const [, id] of here.matchAll(/<a\b[^>]*\bid="([^"]+)"/g)) add({ kind: 'anchor', line, id: id! })
    if (/^\s*<!--.*-->\s*$/.test(here)) add({ kind: 'comment', line, text: here.trim() })
  }
  return sections
}
