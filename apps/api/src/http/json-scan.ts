/** What JSON.parse does not report. `duplicate` is a path like `message.ext`. */
export type JsonScan = {
  depth: number
  duplicate?: string
  /** Start and end of the value at the wanted path. */
  span?: [start: number, end: number]
}

const QUOTE = 34
const BACKSLASH = 92
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125
const OPEN_ARRAY = 91
const CLOSE_ARRAY = 93
const COLON = 58
const COMMA = 44

type Level = { keys?: Set<string>; key: string; path: string }

/**
 * Finds the nesting depth, duplicate keys and the extent of one value in a single pass. Written by hand because JSON.parse
 * silently keeps the last of two equal keys. The text may be invalid JSON; this must not throw, the parser reports it.
 */
export function scanJson(text: string, options: { maxDepth: number; wanted?: string }): JsonScan {
  const { maxDepth, wanted } = options
  const levels: Level[] = []
  let top: Level | undefined
  let deepest = 0
  let expectsKey = false
  let span: [number, number] | undefined
  let spanDepth = -1
  let spanStart = 0

  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE: {
        const start = i
        i = endOfString(text, i)
        if (!top?.keys || !expectsKey) break
        expectsKey = false
        const key = readKey(text, start, i)
        if (top.keys.has(key)) return { depth: deepest, duplicate: join(top.path, key) }
        top.keys.add(key)
        top.key = key
        break
      }
      case OPEN_OBJECT:
      case OPEN_ARRAY: {
        const path = top ? join(top.path, top.key) : ''
        if (wanted !== undefined && span === undefined && path === wanted && spanDepth < 0) {
          spanDepth = levels.length
          spanStart = i
        }
        const isObject = text.charCodeAt(i) === OPEN_OBJECT
        top = { keys: isObject ? new Set() : undefined, key: isObject ? '' : '[]', path }
        levels.push(top)
        expectsKey = isObject
        if (levels.length > deepest) deepest = levels.length
        if (deepest > maxDepth) return { depth: deepest }
        break
      }
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        levels.pop()
        top = levels.at(-1)
        expectsKey = false
        if (levels.length === spanDepth) {
          span = [spanStart, i + 1]
          spanDepth = -1
        }
        break
      case COMMA:
        expectsKey = top?.keys !== undefined
        break
      case COLON:
        expectsKey = false
        break
    }
  }
  return { depth: deepest, span }
}

/** Returns the index of the closing quote, or of the last character when there is none. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === QUOTE) return i
    if (c === BACKSLASH) i++
  }
  return text.length - 1
}

function readKey(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end)
  if (!raw.includes('\\')) return raw
  // Keys that differ only in escapes are equal.
  try {
    return JSON.parse(`"${raw}"`) as string
  } catch {
    return raw
  }
}

function join(path: string, key: string): string {
  if (path === '') return key
  return key === '[]' ? `${path}[]` : `${path}.${key}`
}
