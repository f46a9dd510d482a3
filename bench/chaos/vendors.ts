import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Faults } from '@herald/channels'
import { publicName, type VendorChannel, vendorChannels } from '@herald/domain'
import { Agent, fetch } from 'undici'
import type { ReceiptAddress, VendorsReady } from './vendors-process.ts'

/** What a vendor says it accepted: by task, the tokens and how often; and how many answers nobody heard. */
export type VendorLedger = {
  tasks: Record<string, { accepted: number; tokens: string[] }>
  unheard: number
}

export type Vendors = {
  /** Settings that point Herald's programs at them. */
  env: Record<string, string>
  setFaults(channel: VendorChannel, faults: Faults): Promise<void>
  kill(channel: VendorChannel, tokens: string[]): Promise<void>
  registerReceipts(channel: VendorChannel, url: string): void
  ledger(channel: VendorChannel): Promise<VendorLedger>
  stop(): Promise<void>
}

/** The simulated vendors, in a process that no fault kills: their ledgers are the truth the drill ends with. */
export async function startVendors(dir: string, onEnd: (sentence: string) => void): Promise<Vendors> {
  const child = fork(fileURLToPath(new URL('./vendors-process.ts', import.meta.url)), [dir])
  child.once('exit', (code, signal) => {
    if (child.connected || code !== 0) onEnd(`the simulated vendors ended by themselves (${signal ?? code})`)
  })
  const [{ urls, env }] = (await once(child, 'message')) as [VendorsReady]
  const agent = new Agent({ connect: { ca: readFileSync(env.HERALD_VENDOR_CA!, 'utf8') } })
  const call = async (channel: VendorChannel, path: string, body?: object): Promise<unknown> => {
    const answer = await fetch(`${urls[publicName(channel)]}/_sim/${path}`, {
      dispatcher: agent,
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`the simulator of ${channel} answers ${path} with ${answer.status}`)
    return answer.json()
  }
  return {
    env,
    setFaults: async (channel, faults) => void (await call(channel, 'faults', faults)),
    kill: async (channel, tokens) =>
      void (await call(channel, 'dead', { tokens, since: Date.now() - 3_600_000 })),
    registerReceipts: (channel, url) => child.send({ channel, url } satisfies ReceiptAddress),
    ledger: async (channel) => (await call(channel, 'ledger/tasks')) as VendorLedger,
    async stop() {
      await agent.destroy()
      const gone = once(child, 'exit')
      child.disconnect()
      await gone
    },
  }
}

export async function readLedgers(vendors: Vendors): Promise<Map<VendorChannel, VendorLedger>> {
  const ledgers = new Map<VendorChannel, VendorLedger>()
  for (const channel of vendorChannels) ledgers.set(channel, await vendors.ledger(channel))
  return ledgers
}
