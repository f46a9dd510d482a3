import { createHash } from 'node:crypto'

/**
 * https://github.com/MEIZUPUSH/PushAPI: MD5 of all parameters except `sign`, sorted by name, unencoded and without separators,
 * followed by the secret. It covers the exact text of messageJson, so the signed text must be the one that is sent.
 */
export function signOf(fields: Readonly<Record<string, string>>, appSecret: string): string {
  const hash = createHash('md5')
  for (const name of Object.keys(fields).sort()) if (name !== 'sign') hash.update(`${name}=${fields[name]}`)
  return hash.update(appSecret).digest('hex')
}
