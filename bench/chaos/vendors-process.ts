import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { VendorChannel } from '@herald/domain'
import { readSettings } from '@herald/settings'
import { keepDemoCredentials, startSimulators } from '@herald/standalone'

export type VendorsReady = { urls: Record<string, string>; env: Record<string, string> }
export type ReceiptAddress = { channel: VendorChannel; url: string }

/** All vendors of the drill in a process of their own: `vendors-process.ts <folder of the credentials>`. */
const [dir = '.'] = process.argv.slice(2)
const simulation = await startSimulators(readSettings({}).settings, await keepDemoCredentials(dir))
const authorities = join(dir, 'vendors.pem')
writeFileSync(authorities, simulation.settings.vendorCa ?? '')

/** `huaweiAuth` is set by HERALD_HUAWEI_AUTH_URL. */
const nameOf = (host: string) =>
  `HERALD_${host.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}_URL`

const ready: VendorsReady = {
  urls: simulation.urls,
  env: {
    HERALD_VENDOR_CA: authorities,
    ...Object.fromEntries(
      Object.entries(simulation.settings.vendorUrls).map(([host, url]) => [nameOf(host), url]),
    ),
  },
}
process.on('message', ({ channel, url }: ReceiptAddress) => simulation.registerReceipts(channel, url))
process.on('disconnect', () => process.exit())
process.send!(ready)
