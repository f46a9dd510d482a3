/**
 * Code lengths of RFC 7541 appendix B, by symbol; 256 is the end-of-string symbol. The code is canonical (shorter codes
 * first, then by symbol), so the lengths define it completely.
 */
export const codeLengths: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28,
  28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7,
  8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19,
  13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13,
  28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21,
  22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23,
  22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25,
  25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
]

const endOfString = 256
const nothing = -1
const broken = -2

/**
 * A state machine that consumes four bits per step. A state is an inner node of the code tree; no step completes two symbols,
 * because the shortest code has five bits. 256 states by 16 steps.
 */
const { next, emit, mayEnd } = buildMachine()

/** Decodes into `target` and returns the bytes written, or -1 when the input is invalid or `target` is too small. */
export function decodeHuffman(source: Uint8Array, start: number, end: number, target: Uint8Array): number {
  let state = 0
  let written = 0
  for (let at = start; at < end; at++) {
    const byte = source[at]!
    for (let shift = 4; shift >= 0; shift -= 4) {
      const step = (state << 4) | ((byte >> shift) & 15)
      const symbol = emit[step]!
      if (symbol >= 0) {
        if (written === target.length) return -1
        target[written++] = symbol
      } else if (symbol === broken) return -1
      state = next[step]!
    }
  }
  return mayEnd[state] === 1 ? written : -1
}

function buildMachine() {
  const children: [number, number][] = [[0, 0]]
  const ending: boolean[] = [true]
  for (const { symbol, code, length } of canonicalCodes()) {
    let node = 0
    for (let bit = length - 1; bit > 0; bit--) {
      const side = (code >>> bit) & 1
      if (children[node]![side] === 0) {
        children[node]![side] = children.push([0, 0]) - 1
        // Padding is at most seven ones (RFC 7541 section 5.2), so input may end only at such a node.
        const depth = length - bit
        ending.push(side === 1 && ending[node]! && depth <= 7)
      }
      node = children[node]![side]!
    }
    children[node]![code & 1] = ~symbol
  }
  const next = new Uint8Array(children.length * 16)
  const emit = new Int16Array(children.length * 16).fill(nothing)
  for (let state = 0; state < children.length; state++) {
    for (let nibble = 0; nibble < 16; nibble++) {
      let node = state
      for (let bit = 3; bit >= 0; bit--) {
        node = children[node]![(nibble >> bit) & 1]!
        if (node >= 0) continue
        emit[(state << 4) | nibble] = ~node === endOfString ? broken : ~node
        node = 0
      }
      next[(state << 4) | nibble] = node
    }
  }
  return { next, emit, mayEnd: Uint8Array.from(ending, Number) }
}

export function canonicalCodes(): { symbol: number; code: number; length: number }[] {
  const symbols = codeLengths.map((length, symbol) => ({ symbol, length }))
  symbols.sort((a, b) => a.length - b.length || a.symbol - b.symbol)
  let code = -1
  let last = symbols[0]!.length
  return symbols.map(({ symbol, length }) => {
    code = (code + 1) * 2 ** (length - last)
    last = length
    return { symbol, code, length }
  })
}
