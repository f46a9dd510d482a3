/** What simulators ask of the fields of a request. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isWhole(value: unknown, least: number, most: number): boolean {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

export function isHttps(value: unknown): boolean {
  return typeof value === 'string' && /^https:\/\/./.test(value)
}
