import type { ChannelAdapter } from '@herald/channels'

/** The form in which a vendor token is stored, of what a caller typed. */
export function storedToken(adapter: ChannelAdapter | undefined, typed: string): string {
  return adapter?.canonicalToken?.(typed) ?? typed
}
