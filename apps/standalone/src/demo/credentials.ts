import { generateKeyPair, randomBytes, randomInt } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readJsonFile, writeJsonFile } from '../json-file.ts'

const hex = (bytes: number) => randomBytes(bytes).toString('hex')
const secret = () => randomBytes(32).toString('base64url')
const digits = (count: number) =>
  Array.from({ length: count }, (_, at) => (at === 0 ? randomInt(1, 10) : randomInt(10))).join('')
const capitals = (count: number) =>
  Array.from({ length: count }, () => 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'[randomInt(32)]).join('')

const makeKeyPair = promisify(generateKeyPair)
const pkcs8 = { type: 'pkcs8', format: 'pem' } as const
const ecKey = async () => {
  const { privateKey } = await makeKeyPair('ec', { namedCurve: 'prime256v1' })
  return privateKey.export(pkcs8).toString()
}
const rsaKey = async () => {
  const { privateKey } = await makeKeyPair('rsa', { modulusLength: 2048 })
  return privateKey.export(pkcs8).toString()
}

const makers = {
  application: async () => ({ appId: hex(8), appSecret: secret() }),
  user: async () => ({ username: 'demo', password: secret().slice(0, 16) }),
  apns: async () => ({ keyId: capitals(10), teamId: capitals(10), key: await ecKey() }),
  fcm: async () => ({ projectId: `herald-demo-${hex(3)}`, keyId: hex(20), key: await rsaKey() }),
  huawei: async () => ({
    clientId: digits(9),
    clientSecret: hex(32),
    projectId: digits(18),
    account: { keyId: hex(16), subAccount: digits(9), key: await rsaKey() },
    callbackUser: 'herald-demo',
    callbackKey: randomBytes(32).toString('base64'),
  }),
  honor: async () => ({ appId: digits(9), clientId: hex(16), clientSecret: secret() }),
  xiaomi: async () => ({ appId: digits(19), appKey: digits(13), appSecret: secret() }),
  oppo: async () => ({ appId: digits(8), appKey: hex(16), masterSecret: hex(16), clientSecret: hex(16) }),
  vivo: async () => ({ appId: digits(9), appKey: hex(16), appSecret: hex(16), callbackId: digits(5) }),
  meizu: async () => ({ appId: digits(6), appKey: hex(16), appSecret: hex(16), receiptToken: secret() }),
}
type Makers = typeof makers

/** Who the demo is, at Herald and at each simulated vendor. */
export type DemoCredentials = { [Name in keyof Makers]: Awaited<ReturnType<Makers[Name]>> }

/**
 * Made at the first start and kept, because certificates in the database and the simulators, which remember nothing, must
 * agree at every later one. Written before anything is made from it: a start that was killed half-way continues.
 */
export async function keepDemoCredentials(dataDir: string): Promise<DemoCredentials> {
  const path = join(dataDir, 'demo-credentials.json')
  const kept = readJsonFile<DemoCredentials>(
    path,
    'the keys of the demo',
    '; without the file a new demo is made',
  )
  const missing = (Object.keys(makers) as (keyof Makers)[]).filter((name) => !(name in kept))
  const made = await Promise.all(missing.map(async (name) => [name, await makers[name]()] as const))
  const all = { ...kept, ...Object.fromEntries(made) } as DemoCredentials
  if (missing.length > 0) writeJsonFile(path, all)
  return all
}
