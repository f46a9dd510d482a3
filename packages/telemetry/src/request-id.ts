import { randomUUID } from 'node:crypto'

/** It goes into every log line of a request, so nothing that could end the line or flood the log. */
const sane = /^[A-Za-z0-9._:-]{1,128}$/

/** The caller's own id of a request when it is sane, a new one otherwise. */
export function requestIdOf(header: string | string[] | undefined): string {
  return typeof header === 'string' && sane.test(header) ? header : randomUUID()
}
