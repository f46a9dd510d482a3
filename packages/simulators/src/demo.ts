import { generateKeyPair, randomBytes, randomInt } from 'node:crypto'
import { promisify } from 'node:util'
import type { Simulator } from './simulator.ts'

/** The part of a simulated vendor in the demo: `demo.ts` of each vendor's folder. */
export type Demo<Credentials> = {
  /** Created once and stored: certificate and simulator must agree at every later start, and the simulator stores nothing. */
  makeCredentials(): Promise<Credentials>
  /** The certificate record, with the values that an operator would copy from the vendor's console. */
  certificate(credentials: Credentials): DemoCertificate
  devices: readonly DemoDevice[]
  /** A token in the vendor's format, from a hash of 32 bytes. Some vendors' tokens differ by platform. */
  token(hash: Buffer, platform?: DemoDevice['platform']): string
  /** Rates and caps per device are off: someone who tries one push after the other would reach them. */
  start(credentials: Credentials, mode?: DemoMode): Promise<StartedDemo>
}

export type DemoMode = {
  /**
   * Accepts well-formed credentials of applications that the simulator does not know, for people who try their own application. The
   * demo's credentials are still checked, and faults still refuse.
   */
  acceptUnknownCredentials?: boolean
}

export type DemoCertificate = {
  appId: string
  appKey: string
  appSecret: string
  certificate: string
  extra: Record<string, unknown>
}

/** Several vendors may list the same device: it has a binding for each of them. */
export type DemoDevice = {
  guid: string
  platform: 'ios' | 'android' | 'harmony'
  alias?: string
  tags?: string[]
  /** Belongs to the demo user. */
  owned?: true
}

export type StartedDemo = {
  /** The first one is shown; the others are further hosts of the vendor. */
  simulators: readonly [Simulator, ...Simulator[]]
  /** URLs by the names of the vendor's card. */
  urls: Readonly<Record<string, string>>
  /** Enters the receipt URL in the vendor's console, if the vendor has such a setting. */
  registerReceipts?(url: string): void
}

/** Loads one vendor only, so that a process that simulates one does not load the others. */
export async function loadDemo(vendor: string): Promise<Demo<unknown>> {
  const { demo } = (await import(`./${vendor}/demo.ts`)) as { demo: Demo<unknown> }
  return demo
}

export const packageName = 'com.example.herald'
/** Messages of this class have no quiet hours and no limit per device, so that the demo works at any time. */
export const serviceClass = { default_class: 'service' }

export const hex = (bytes: number) => randomBytes(bytes).toString('hex')
export const secret = () => randomBytes(32).toString('base64url')
export const digits = (count: number) =>
  Array.from({ length: count }, (_, at) => (at === 0 ? randomInt(1, 10) : randomInt(10))).join('')
export const capitals = (count: number) =>
  Array.from({ length: count }, () => 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'[randomInt(32)]).join('')

const makeKeyPair = promisify(generateKeyPair)
const pkcs8 = { type: 'pkcs8', format: 'pem' } as const

export async function makeEcKey(): Promise<string> {
  const { privateKey } = await makeKeyPair('ec', { namedCurve: 'prime256v1' })
  return privateKey.export(pkcs8).toString()
}

export async function makeRsaKey(): Promise<string> {
  const { privateKey } = await makeKeyPair('rsa', { modulusLength: 2048 })
  return privateKey.export(pkcs8).toString()
}
