import type { Unsupported } from '../channel.ts'

/** Bytes of a request beside its tokens, in both versions. */
export const mostBytes = 4096
/** Huawei names no least value; one second is as close to "only if reachable now" as it surely takes. */
export const ttlBounds = { least: 1, most: 15 * 86_400 }

export const noText: Unsupported = { unsupported: 'Huawei needs a title or a body to show' }
export const tooLarge: Unsupported = {
  unsupported: `the message is over Huawei's ${mostBytes} bytes even with its texts cut`,
}

/** A sound's bare name without folder; undefined for the system's own sound. */
export function soundName(sound: string | undefined): string | undefined {
  const name = sound?.replace(/^\/?raw\//, '')
  return name && name !== 'default' ? name : undefined
}
