/** Literal, never indexed, name at static index 4: `:path`. */
const pathField = 0x14

/** Writes a checked path as a header field and returns the end position; uses at most six bytes more than the path. */
export function putPath(target: Buffer, start: number, path: string): number {
  target[start] = pathField
  return putString(target, start + 1, path)
}

/** Writes the value of a header field, and returns the end position; uses at most five bytes more than the text. */
export function putString(target: Buffer, start: number, text: string): number {
  let at = start
  const { length } = text
  if (length < 127) target[at++] = length
  else {
    target[at++] = 127
    let rest = length - 127
    for (; rest >= 128; rest >>>= 7) target[at++] = (rest & 127) | 128
    target[at++] = rest
  }
  return at + target.write(text, at, 'latin1')
}

/** Up to this length, writing character by character is faster than a call into the runtime. */
const shortTextLength = 16

/** Writes UTF-8 and returns the end position; uses at most three bytes per character. */
export function putText(target: Buffer, start: number, text: string): number {
  const { length } = text
  if (length > shortTextLength) return start + target.write(text, start)
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code > 127) return start + target.write(text, start)
    target[start + i] = code
  }
  return start + length
}

export function copyInto(target: Buffer, at: number, source: Buffer): number {
  const { length } = source
  if (length > 64) target.set(source, at)
  else for (let i = 0; i < length; i++) target[at + i] = source[i]!
  return at + length
}
