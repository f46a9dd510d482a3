/** Waits for a condition; the sentence names it when it does not come. */
export async function until(what: string, condition: () => boolean, limitMs = 15_000): Promise<void> {
  const end = performance.now() + limitMs
  while (!condition()) {
    if (performance.now() > end) throw new Error(`waited ${limitMs} ms in vain until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
