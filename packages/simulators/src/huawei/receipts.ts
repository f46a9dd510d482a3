import { createHmac, randomUUID } from 'node:crypto'
import type { ReceiptPost } from '../frame/receipts.ts'

/** A receipt URL of an app, as set in AppGallery Connect. */
export type HuaweiReceiptAddress = {
  clientId: string
  url: string
  /** Used for requests that name it; without one the URL is the default of the app. */
  receiptId?: string
  /** User name and key for the signature of receipts; the key is base64 unless `rawKey`. */
  user?: string
  key?: string
  rawKey?: boolean
  /** Version of the body: 1 has `status`, 2 has `deliveryStatus`. */
  version?: 1 | 2
}

export type HuaweiReceipt = {
  address: HuaweiReceiptAddress
  token: string
  biTag?: string
  status: number
  timestamp: number
  requestId: string
}

/** Maximum number of entries per post. */
const maxEntries = 100

export function writeReceipts(receipts: readonly HuaweiReceipt[], nowMs: number): ReceiptPost[] {
  const posts: ReceiptPost[] = []
  for (let from = 0; from < receipts.length; from += maxEntries) {
    const part = receipts.slice(from, from + maxEntries)
    const statuses = part.map((receipt) =>
      receipt.address.version === 2 ? writeV2(receipt) : writeV1(receipt),
    )
    const headers = {
      'content-type': 'application/json;charset=UTF-8',
      ...signature(part[0]!.address, nowMs),
    }
    posts.push({ headers, body: JSON.stringify({ statuses }) })
  }
  return posts
}

function writeV1({ address, token, biTag, status, timestamp, requestId }: HuaweiReceipt): object {
  return { biTag, appid: address.clientId, token, status, timestamp, requestId }
}

function writeV2({ token, biTag, status, timestamp, requestId }: HuaweiReceipt): object {
  const deliveryStatus = { result: status, timestamp }
  return { token, pushType: 0, appPackageName: 'com.example.app', biTag, requestId, deliveryStatus }
}

function signature(address: HuaweiReceiptAddress, nowMs: number): Record<string, string> {
  if (!address.user || !address.key) return {}
  const nonce = randomUUID()
  const key = Buffer.from(address.key, address.rawKey ? 'utf8' : 'base64')
  const value = createHmac('sha256', key).update(`${nowMs}${nonce}${address.user}`).digest('base64')
  return { 'x-huawei-callback-id': `timestamp=${nowMs}; nonce=${nonce}; value=${value}` }
}
