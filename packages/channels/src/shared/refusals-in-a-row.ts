/**
 * Number of refusals in a row after which a transport does not send the rest of a call. A single one may concern one request only, and
 * the vendor counts each: without a limit, a batch would be refused a thousand times.
 */
export const refusalsToStop = 20

/** Counts refusals without another reply in between. */
export function countInARow(): { note(isRefusal: boolean): number } {
  let count = 0
  return {
    note(isRefusal) {
      count = isRefusal ? count + 1 : 0
      return count
    },
  }
}
