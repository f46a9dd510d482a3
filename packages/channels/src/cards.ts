import { card as apns } from './apns/card.ts'
import { card as fcm } from './fcm/card.ts'
import { card as honor } from './honor/card.ts'
import { card as huawei } from './huawei/card.ts'
import { card as meizu } from './meizu/card.ts'
import { card as oppo } from './oppo/card.ts'
import { card as vivo } from './vivo/card.ts'
import { card as xiaomi } from './xiaomi/card.ts'

export type * from './card.ts'
export { androidFields } from './card-parts.ts'

/** Every vendor, in the order of `provider`. The only list of vendors in the code: a new one adds its line. */
export const cards = [apns, huawei, xiaomi, meizu, vivo, oppo, fcm, honor] as const
export type VendorCard = (typeof cards)[number]

type Addresses = VendorCard['addresses']
type NamesOf<Table> = Table extends unknown ? keyof Table : never
type RegionNamesOf<Table> = Table extends unknown
  ? { [Name in keyof Table]: Table[Name] extends { region: true } ? Name : never }[keyof Table]
  : never
/** Names of the base addresses of all vendors. */
export type AddressName = NamesOf<Addresses>
export type RegionAddressName = RegionNamesOf<Addresses>
