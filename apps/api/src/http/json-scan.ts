/** What JSON.parse does not report. `duplicate` is a path like `message.ext`. */
export type JsonScan = {
  depth: number
  duplicate?: string
  /** Start and end of each object or list at the wanted path, in the order of the text. */
  spans: [start: number, end: number][]
}

const QUOTE = 34
const BACKSLASH = 92
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125
const OPEN_ARRAY = 91
const CLOSE_ARRAY = 93
const COLON = 58
const COMMA = 44

/** `keys` is absent in lists. Of an object with few of them it is a list: searching it costs less than making a set. */
type Level = { keys?: string[] | Set<string>; key: string }

const FEW_KEYS = 16
/** Stands for an item of a list in a path. */
const ITEM = '[]'

/**
 * Finds the nesting depth, duplicate keys and the extent of the values at a path, such as `message.ext` or `list[].message.ext`, in a
 * single pass. Written by hand because JSON.parse silently keeps the last of two equal keys. The text may be invalid JSON; this must
 * not throw, the parser reports it.
 */
export function scanJson(text: string, options: { maxDepth: number; wanted?: string }): JsonScan {
  const { maxDepth } = options
  const wanted = options.wanted?.replaceAll(ITEM, `.${ITEM}`).split('.')
  const isEscaped = text.includes('\\')
  const levels: Level[] = []
  let top: Level | undefined
  let deepest = 0
  let expectsKey = false
  const spans: [number, number][] = []
  let spanDepth = -1
  let spanStart = 0

  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE: {
        const start = i
        i = endOfString(text, i, isEscaped)
        if (!top?.keys || !expectsKey) break
        expectsKey = false
        const key = readKey(text, start, i, isEscaped)
        if (!isNew(top, key)) return { depth: deepest, duplicate: join(pathOf(levels), key), spans }
        top.key = key
        break
      }
      case OPEN_OBJECT:
      case OPEN_ARRAY: {
        if (wanted !== undefined && levels.length === wanted.length && isAt(levels, wanted)) {
          spanDepth = levels.length
          spanStart = i
        }
        const isObject = text.charCodeAt(i) === OPEN_OBJECT
        top = { keys: isObject ? [] : undefined, key: isObject ? '' : ITEM }
        levels.push(top)
        expectsKey = isObject
        if (levels.length > deepest) deepest = levels.length
        if (deepest > maxDepth) return { depth: deepest, spans }
        break
      }
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        levels.pop()
        top = levels.at(-1)
        expectsKey = false
        if (levels.length === spanDepth) {
          spans.push([spanStart, i + 1])
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
  return { depth: deepest, spans }
}

/** A key of the caller may look like a path or like the mark of a list, so levels are compared one by one. */
function isAt(levels: Level[], wanted: string[]): boolean {
  return levels.every(
    ({ keys, key }, i) => (keys === undefined) === (wanted[i] === ITEM) && key === wanted[i],
  )
}

/** Notes a key of the object; false if it has it already. */
function isNew(level: Level, key: string): boolean {
  const { keys } = level
  if (!Array.isArray(keys)) {
    const size = keys!.size
    return keys!.add(key).size > size
  }
  if (keys.includes(key)) return false
  keys.push(key)
  if (keys.length > FEW_KEYS) level.keys = new Set(keys)
  return true
}

function pathOf(levels: Level[]): string {
  return levels.slice(0, -1).reduce((path, { key }) => join(path, key), '')
}

/** Returns the index of the closing quote, or of the last character when there is none. */
function endOfString(text: string, start: number, isEscaped: boolean): number {
  for (let from = start + 1; ; ) {
    const end = text.indexOf('"', from)
    if (end < 0) return text.length - 1
    if (!isEscaped) return end
    let at = end
    while (at > from && text.charCodeAt(at - 1) === BACKSLASH) at--
    if ((end - at) % 2 === 0) return end
    from = end + 1
  }
}

function readKey(text: string, start: number, end: number, isEscaped: boolean): string {
  const raw = text.slice(start + 1, end)
  if (!isEscaped || !raw.includes('\\')) return raw
  // Keys that differ only in escapes are equal.
  try {
    return JSON.parse(`"${raw}"`) as string
  } catch {
    return raw
  }
}

function join(path: string, key: string): string {
  if (path === '') return key
  return key === ITEM ? `${path}${ITEM}` : `${path}.${key}`
}
