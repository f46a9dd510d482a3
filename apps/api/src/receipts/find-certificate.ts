import { createHash, timingSafeEqual } from 'node:crypto'
import { shareReads } from '@herald/async'
import { callbackKeys } from '@herald/db/certificates'
import type { Database } from '@herald/db/store'
import { channelOfPublicName, type VendorChannel } from '@herald/domain'

/** The parts of a callback's path. */
export type CallbackAddress = { channel: string; appId: string; key: string }

export type CertificateFinder = {
  /** Returns the id of the certificate that the address belongs to. */
  find(address: CallbackAddress): Promise<number | undefined>
  /** Returns whether `find` needs no query. */
  isCached(address: CallbackAddress): boolean
}

const FRESH_MS = 1000

/** Keys are cached for a second, also of applications that have none: anyone may ask, and every callback does. */
export function createCertificateFinder(db: Database): CertificateFinder {
  const keys = shareReads({
    read(place: string) {
      const [channel, appId] = place.split('/') as [VendorChannel, string]
      return callbackKeys(db, appId, channel)
    },
    maxAgeMs: FRESH_MS,
  })

  return {
    async find(address) {
      const place = placeOf(address)
      if (place === undefined) return undefined
      const hash = createHash('sha256').update(address.key).digest()
      const found = (await keys.get(place)).find(({ keyHash }) => timingSafeEqual(keyHash, hash))
      return found?.certificateId
    },
    isCached(address) {
      const place = placeOf(address)
      return place === undefined || keys.isFresh(place)
    },
  }
}

/** Undefined for an address that no certificate can have. */
function placeOf({ channel: name, appId, key }: CallbackAddress): string | undefined {
  const channel = channelOfPublicName(name)
  if (!channel || channel === 'native' || !/^[\w-]{22}$/.test(key) || !/^[\w.-]{1,32}$/.test(appId))
    return undefined
  return `${channel}/${appId}`
}
