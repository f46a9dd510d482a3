import { randomUUID } from 'node:crypto'

/** The id is in every log line of a request, so it must be short and without line ends. */
const valid = /^[A-Za-z0-9._:-]{1,128}$/

/** Returns the caller's request id if it is valid, otherwise a new one. */
export function requestIdOf(header: string | string[] | undefined): string {
  return typeof header === 'string' && valid.test(header) ? header : randomUUID()
}
