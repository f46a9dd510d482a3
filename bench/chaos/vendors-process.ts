import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Address, type AddressName, cards } from '@herald/channels/cards'
import type { VendorChannel } from '@herald/domain'
import { readSettings } from '@herald/settings'
import { keepDemoCredentials, startSimulators } from '@herald/standalone'

export type VendorsReady = { urls: Record<string, string>; env: Record<string, string> }
export type ReceiptAddress = { channel: VendorChannel; url: string }

// Run by vendors.ts: `vendors-process.ts <folder of the credentials>`.
const [dir = '.'] = process.argv.slice(2)
const simulation = await startSimulators(readSettings({}).settings, await keepDemoCredentials(dir))
const { vendorUrls, vendorCa } = simulation.settings
const authorities = join(dir, 'vendors.pem')
writeFileSync(authorities, vendorCa ?? '')

const addresses = cards.flatMap((card) => Object.entries<Address>(card.addresses))

const ready: VendorsReady = {
  urls: simulation.urls,
  env: {
    HERALD_VENDOR_CA: authorities,
    ...Object.fromEntries(addresses.map(([name, { setting }]) => [setting, vendorUrls[name as AddressName]])),
  },
}
process.on('message', ({ channel, url }: ReceiptAddress) => simulation.registerReceipts(channel, url))
process.on('disconnect', () => process.exit())
process.send!(ready)
