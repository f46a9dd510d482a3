import { publicName, type Reason, type VendorChannel, vendorReason } from '@herald/domain'

/**
 * A reason with the vendor's code. `detail` distinguishes meanings of one code. A code that is neither a number nor a word is
 * replaced: codes are keys and labels, and a vendor's free text may contain a token.
 */
export function reason(channel: VendorChannel, code: string | number, text: string, detail?: string): Reason {
  const safe = /^(-?\d{1,12}|[A-Za-z]\w{0,63})$/.test(String(code)) ? code : 'unknown'
  return vendorReason(publicName(channel), detail === undefined ? `${safe}` : `${safe}.${detail}`, text)
}
