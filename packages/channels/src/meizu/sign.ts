import { createHash } from 'node:crypto'

/**
 * https://github.com/MEIZUPUSH/PushAPI: all parameters but `sign`, by name, as raw text, with nothing between the pairs, the
 * secret behind them, MD5 in lower case. It covers the exact text of messageJson: what is signed must be what is sent.
 */
export function signOf(fields: Readonly<Record<string, string>>, appSecret: string): string {
  const hash = createHash('md5')
  for (const name of Object.keys(fields).sort()) if (name !== 'sign') hash.update(`${name}=${fields[name]}`)
  return hash.update(appSecret).digest('hex')
}
