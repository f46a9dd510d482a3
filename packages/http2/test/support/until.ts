/** Waits for a condition; `what` describes it in the error. */
export async function until(what: string, condition: () => boolean, limitMs = 15_000): Promise<void> {
  const end = performance.now() + limitMs
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not true after ${limitMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
