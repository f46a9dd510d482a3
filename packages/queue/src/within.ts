import { QueueUnavailable, reasonOf } from './errors.ts'

/** The answer, or QueueUnavailable when it fails or takes longer than the limit. */
export async function within<T>(limitMs: number, label: string, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new QueueUnavailable(`${label} did not answer within ${limitMs} ms`)),
      limitMs,
    )
  })
  try {
    return await Promise.race([answer, late])
  } catch (error) {
    if (error instanceof QueueUnavailable) throw error
    throw new QueueUnavailable(`${label} cannot be asked: ${reasonOf(error)}`, { cause: error })
  } finally {
    clearTimeout(timer)
  }
}
