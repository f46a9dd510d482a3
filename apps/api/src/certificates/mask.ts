/** Shows enough to recognise a secret, too little to use it. */
export function mask(secret: string): string {
  if (secret === '') return ''
  return secret.length < 16 || secret.includes('\n') ? '****' : `****${secret.slice(-4)}`
}

/** What `mask` returns. No vendor issues such a secret. */
export const isMask = (text: unknown): boolean => typeof text === 'string' && /^\*{4}.{0,4}$/.test(text)

const SECRET_NAME = /secret|token|user|password|key/i

/** Masks the fields whose name indicates a secret. */
export function maskExtra(extra: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(extra).map(([name, value]) => [
      name,
      typeof value === 'string' && SECRET_NAME.test(name) ? mask(value) : value,
    ]),
  )
}
