import { posix } from 'node:path'

/** A Markdown file: its path from the root with forward slashes, and its content. */
export type Page = { path: string; text: string }

/**
 * One sentence for every broken link: to a file that does not exist, or to a heading that its page does not have. External
 * URLs are not checked.
 */
export function findBrokenLinks(pages: Page[], exists: (path: string) => boolean): string[] {
  const anchors = new Map(pages.map((page) => [page.path, anchorsOf(page.text)]))
  return pages.flatMap((page) =>
    linksOf(page.text).flatMap(({ target, line }) => {
      const [file = '', anchor] = target.split('#')
      const path = file === '' ? page.path : posix.join(posix.dirname(page.path), decodeURI(file))
      const where = `${page.path}:${line} links to ${target}`
      if (!exists(path)) return [`${where}, but ${path} does not exist`]
      if (anchor === undefined || !anchors.has(path)) return []
      return anchors.get(path)!.has(anchor) ? [] : [`${where}, but ${path} has no such heading`]
    }),
  )
}

type Link = { target: string; line: number }

/** Links and images within this repository, except in code. */
export function linksOf(text: string): Link[] {
  return withoutCode(text).flatMap((line, index) =>
    [
      ...line.matchAll(/\]\(<?([^\s()<>]+)>?(?:\s+"[^"]*")?\)/g),
      ...line.matchAll(/^\s*\[[^\]]+\]:\s+<?(\S+?)>?$/g),
      ...line.matchAll(/<(?:a|img)\b[^>]*\b(?:href|src)="([^"]+)"/g),
    ]
      .map((match) => ({ target: match[1]!, line: index + 1 }))
      .filter(({ target }) => !/^([a-z][a-z0-9+.-]*:|\/\/)/i.test(target)),
  )
}

/** Anchors like GitHub's: lower case, spaces become hyphens, punctuation is dropped, repeated headings are numbered. */
export function anchorsOf(text: string): Set<string> {
  const found = new Set<string>()
  for (const line of withoutFences(text)) {
    for (const match of line.matchAll(/<a\b[^>]*\b(?:id|name)="([^"]+)"/g)) found.add(match[1]!)
    const heading = /^#{1,6}\s+(.*?)\s*#*$/.exec(line)?.[1]
    if (heading === undefined) continue
    const slug = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-')
    let name = slug
    for (let repeat = 1; found.has(name); repeat++) name = `${slug}-${repeat}`
    found.add(name)
  }
  return found
}

/** All lines; those of fenced blocks are emptied, so that line numbers stay right. */
function withoutFences(text: string): string[] {
  let fence: string | undefined
  return text.split('\n').map((line) => {
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1]
    if (fence === undefined) {
      fence = mark
      return mark === undefined ? line : ''
    }
    if (mark?.startsWith(fence)) fence = undefined
    return ''
  })
}

function withoutCode(text: string): string[] {
  return withoutFences(text).map((line) => line.replaceAll(/(`+)(?!`).*?\1/g, ''))
}
