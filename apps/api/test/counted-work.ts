/** These look at one character or item; every other function of a string or an array is charged with its length. */
const single = new Set(['charCodeAt', 'codePointAt', 'charAt', 'at', 'push', 'pop'])

/**
 * Counts what built-in functions visit while `run` runs: characters of strings, items of arrays. Unlike time, the count is the
 * same on every machine. Not counted: characters read as `text[i]`, and what a built-in function does beyond one pass.
 */
export function countWork(run: () => void): number {
  let work = 0
  const restore: (() => void)[] = []

  /** `self` is what the function is called on. */
  function charge(
    holder: object,
    name: PropertyKey,
    costOf: (self: unknown, args: unknown[], result: unknown) => number,
  ) {
    const described = Object.getOwnPropertyDescriptor(holder, name)
    const real = described?.value
    if (typeof real !== 'function' || !described!.configurable) return
    const value = function (this: unknown, ...args: unknown[]) {
      const result = Reflect.apply(real, this, args)
      work += costOf(this, args, result)
      return result
    }
    Object.defineProperty(holder, name, { ...described, value })
    restore.push(() => Object.defineProperty(holder, name, described!))
  }

  const lengthOf = (value: unknown) => (value as { length?: number } | undefined)?.length ?? 1
  /** From where the search begins to where it ends. */
  const searched = (self: unknown, [, from = 0]: unknown[], found: unknown) =>
    (Number(found) < 0 ? lengthOf(self) : Number(found) + 1) - Number(from)
  for (const holder of [String.prototype, Array.prototype] as object[]) {
    for (const name of Reflect.ownKeys(holder)) {
      if (name === 'constructor') continue
      const isSingle = single.has(String(name))
      const isCut = name === 'slice' || name === 'substring'
      charge(holder, name, (self, args, result) => {
        if (name === 'indexOf') return searched(self, args, result)
        return isSingle ? 1 : lengthOf(isCut ? result : self)
      })
    }
  }
  charge(RegExp.prototype, 'exec', (_self, [text]) => lengthOf(text))
  charge(RegExp.prototype, 'test', (_self, [text]) => lengthOf(text))
  charge(JSON, 'parse', (_self, [text]) => lengthOf(text))
  charge(Object, 'keys', (_self, _args, result) => lengthOf(result))
  charge(Object, 'entries', (_self, _args, result) => lengthOf(result))
  try {
    run()
  } finally {
    for (const undo of restore) undo()
  }
  return work
}
