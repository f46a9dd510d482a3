import { isUtf8 } from 'node:buffer'

export type SplitLine = { no: number; text: string } | { no: number; problem: string }

export const LINE_LIMIT = 64 * 1024
const NEWLINE = 10
const BYTE_ORDER_MARK = '\ufeff'

/** Splits a stream of bytes into lines; keeps at most one line and one chunk in memory. */
export type LineSplitter = {
  push(chunk: Uint8Array): SplitLine[]
  /** Returns the last line if it has no newline. */
  end(): SplitLine[]
}

const tooLong = `is longer than ${LINE_LIMIT / 1024} KiB`

export function createLineSplitter(): LineSplitter {
  let no = 0
  let rest: Buffer = Buffer.alloc(0)
  let skipping = false

  function readWhole(block: Buffer): SplitLine[] {
    // Decodes all lines of a chunk at once, and line by line only if the chunk is not valid UTF-8.
    if (isUtf8(block)) return block.toString('utf8').split('\n').map(readLine)
    const lines: SplitLine[] = []
    for (let from = 0; from <= block.length; ) {
      const found = block.indexOf(NEWLINE, from)
      const to = found < 0 ? block.length : found
      const bytes = block.subarray(from, to)
      lines.push(
        isUtf8(bytes) ? readLine(bytes.toString('utf8')) : { no: ++no, problem: 'is not valid UTF-8' },
      )
      from = to + 1
    }
    return lines
  }

  function readLine(line: string): SplitLine {
    no++
    const text = no === 1 && line.startsWith(BYTE_ORDER_MARK) ? line.slice(1) : line
    const fits = text.length * 3 <= LINE_LIMIT || Buffer.byteLength(text) <= LINE_LIMIT
    return fits ? { no, text } : { no, problem: tooLong }
  }

  return {
    push(chunk) {
      let block = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      const lines: SplitLine[] = []
      if (skipping) {
        const end = block.indexOf(NEWLINE)
        if (end < 0) return lines
        skipping = false
        block = block.subarray(end + 1)
      }
      const last = block.lastIndexOf(NEWLINE)
      if (last < 0) {
        rest = rest.length === 0 ? Buffer.from(block) : Buffer.concat([rest, block])
      } else {
        const whole = block.subarray(0, last)
        lines.push(...readWhole(rest.length === 0 ? whole : Buffer.concat([rest, whole])))
        // A copy: a view would keep the whole chunk alive.
        rest = Buffer.from(block.subarray(last + 1))
      }
      if (rest.length > LINE_LIMIT) {
        lines.push({ no: ++no, problem: tooLong })
        rest = Buffer.alloc(0)
        skipping = true
      }
      return lines
    },
    end() {
      return rest.length === 0 ? [] : readWhole(rest)
    },
  }
}
