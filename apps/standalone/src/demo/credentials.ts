import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type VendorChannel, vendorChannels } from '@herald/domain'
import type { DemoCertificate } from '@herald/simulators'
import { readJsonFile, writeJsonFile } from '../json-file.ts'
import { demos } from './demos.ts'

const secret = () => randomBytes(32).toString('base64url')

const own = {
  application: async () => ({ appId: randomBytes(8).toString('hex'), appSecret: secret() }),
  user: async () => ({ username: 'demo', password: secret().slice(0, 16) }),
}
const makers: Record<string, () => Promise<unknown>> = {
  ...own,
  ...Object.fromEntries(vendorChannels.map((channel) => [channel, demos[channel].makeCredentials])),
}

/** Credentials of the demo, for Herald and for each simulated vendor, whose demo knows their type. */
export type DemoCredentials = {
  [Name in keyof typeof own]: Awaited<ReturnType<(typeof own)[Name]>>
} & Record<VendorChannel, unknown>

/**
 * Generated at the first start and stored, because the certificates in the database and the simulators, which store nothing,
 * must agree at every later start. Written before anything uses them, so that a start that was killed can be repeated.
 */
export async function keepDemoCredentials(dataDir: string): Promise<DemoCredentials> {
  const path = join(dataDir, 'demo-credentials.json')
  const kept = readJsonFile<DemoCredentials>(
    path,
    'the keys of the demo',
    '; if you delete it, a new demo is created',
  )
  const missing = Object.keys(makers).filter((name) => !(name in kept))
  const made = await Promise.all(missing.map(async (name) => [name, await makers[name]!()] as const))
  const all = { ...kept, ...Object.fromEntries(made) } as DemoCredentials
  if (missing.length > 0) writeJsonFile(path, all)
  return all
}

/** For further applications: the simulators accept credentials that they do not know. */
export async function newDemoCertificate(channel: VendorChannel): Promise<DemoCertificate> {
  return demos[channel].certificate(await demos[channel].makeCredentials())
}

export function demoCertificate(channel: VendorChannel, credentials: DemoCredentials): DemoCertificate {
  return demos[channel].certificate(credentials[channel])
}
