/** A text as bytes, outside of the heap. */
export type StoredText = { readonly bytes: Buffer; release(): void }

/**
 * Keeps texts as bytes in buffers that are used again. Strings that live for as long as a statement are copied by collections and end in
 * the old part of the heap, which then grows by all that was ever written until it is collected as a whole. So do new buffers.
 */
export function createTextStore(): (text: string) => StoredText {
  const free: Buffer[] = []
  return (text) => {
    const needed = Buffer.byteLength(text)
    let buffer = free.pop()
    if (!buffer || buffer.length < needed) buffer = Buffer.allocUnsafeSlow(needed + (needed >> 2))
    buffer.write(text)
    const whole = buffer
    return { bytes: whole.subarray(0, needed), release: () => void free.push(whole) }
  }
}
