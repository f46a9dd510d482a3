/** Waits for a condition; `what` describes it in the error. */
export async function until(what: string, condition: () => boolean, limitMs = 60_000): Promise<void> {
  // Not performance.now(), which a spec may have stopped.
  const end = Date.now() + limitMs
  while (!condition()) {
    if (Date.now() > end) throw new Error(`not true after ${limitMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
