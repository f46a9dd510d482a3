import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { publicName, type VendorChannel, vendorChannels } from '@herald/domain'
import type { Faults, TaskLedger } from '@herald/simulators'
import { Agent, fetch } from 'undici'
import type { ReceiptAddress, VendorsReady } from './vendors-process.ts'

/**
 * What a vendor accepted: number of pushes and tokens by task, the tokens whose response was certainly lost at least once, when it
 * accepted the first and the last (Unix ms); `unheard` of the ledger counts all pushes whose response may have been lost.
 */
export type VendorLedger = { tasks: Record<string, TaskLedger>; unheard: number }

export type Vendors = {
  pid: number
  /** Settings that direct Herald's programs to the vendors. */
  env: Record<string, string>
  setFaults(channel: VendorChannel, faults: Faults): Promise<void>
  kill(channel: VendorChannel, tokens: string[]): Promise<void>
  registerReceipts(channel: VendorChannel, url: string): void
  ledger(channel: VendorChannel): Promise<VendorLedger>
  stop(): Promise<void>
}

/** Runs the simulated vendors in a process that no fault stops, because Herald is compared with their ledgers. */
export async function startVendors(dir: string, onEnd: (sentence: string) => void): Promise<Vendors> {
  const child = fork(fileURLToPath(new URL('./vendors-process.ts', import.meta.url)), [dir])
  child.once('exit', (code, signal) => {
    if (child.connected || code !== 0) onEnd(`the simulated vendors exited (${signal ?? code})`)
  })
  const [{ urls, env }] = (await once(child, 'message')) as [VendorsReady]
  const agent = new Agent({ connect: { ca: readFileSync(env.HERALD_VENDOR_CA!, 'utf8') } })
  const call = async (channel: VendorChannel, path: string, body?: object): Promise<unknown> => {
    const response = await fetch(`${urls[publicName(channel)]}/_sim/${path}`, {
      dispatcher: agent,
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`the simulator of ${channel} returned ${response.status} for ${path}`)
    return response.json()
  }
  return {
    env,
    pid: child.pid!,
    setFaults: async (channel, faults) => void (await call(channel, 'faults', faults)),
    kill: async (channel, tokens) =>
      void (await call(channel, 'dead', { tokens, since: Date.now() - 3_600_000 })),
    registerReceipts: (channel, url) => child.send({ channel, url } satisfies ReceiptAddress),
    ledger: async (channel) => (await call(channel, 'ledger/tasks')) as VendorLedger,
    async stop() {
      await agent.destroy()
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}

export async function readLedgers(vendors: Vendors): Promise<Map<VendorChannel, VendorLedger>> {
  const ledgers = new Map<VendorChannel, VendorLedger>()
  for (const channel of vendorChannels) ledgers.set(channel, await vendors.ledger(channel))
  return ledgers
}
