import { isUtf8 } from 'node:buffer'

/** A line of a file with its number, from 1, and the byte after it. `invalid`: its bytes, if they are not UTF-8; `text` is then wrong. */
export type TextLine = { no: number; text: string; end: number; invalid?: Uint8Array }

const NEWLINE = 10

/**
 * Splits a stream into lines without their ends and without a byte order mark, in constant memory. Bytes are joined first: a character may
 * be cut by a chunk.
 */
export async function* textLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<TextLine> {
  let rest: Uint8Array[] = []
  let no = 0
  let end = 0
  const line = (last: Uint8Array, ending: number): TextLine => {
    const bytes = Buffer.concat([...rest, last])
    rest = []
    end += bytes.length + ending
    const decoded = bytes.toString('utf8').replace(/\r$/, '')
    const text = ++no === 1 ? decoded.replace(/^\uFEFF/, '') : decoded
    return { no, text, end, ...(!isUtf8(bytes) && { invalid: bytes }) }
  }
  for await (const chunk of chunks) {
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      yield line(chunk.subarray(from, at), 1)
      from = at + 1
    }
    // A copy: the stream may reuse the memory of its chunk.
    if (from < chunk.length) rest.push(chunk.slice(from))
  }
  if (rest.length > 0) yield line(new Uint8Array(), 0)
}
