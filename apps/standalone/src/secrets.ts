import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { readSettings, type Settings } from '@herald/settings'
import { readJsonFile, writeJsonFile } from './json-file.ts'

const makers = {
  HERALD_OPERATOR_KEY: () => randomBytes(24).toString('base64url'),
  HERALD_MASTER_KEY: () => randomBytes(32).toString('hex'),
  HERALD_TOKEN_KEY: () =>
    generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
      .privateKey.export({ type: 'pkcs8', format: 'pem' })
      .toString(),
}
type Secrets = Record<keyof typeof makers, string>

/**
 * The secrets that the environment does not give: made at the first start and kept in the data directory ever after,
 * because the database below it is sealed with them.
 */
export function withKeptSecrets(settings: Settings, dataDir: string): Settings {
  const path = join(dataDir, 'secrets.json')
  const kept = readJsonFile<Secrets>(path, 'the keys of the database')
  const all = Object.fromEntries(
    Object.entries(makers).map(([name, make]) => [name, kept[name as keyof Secrets] ?? make()]),
  ) as Secrets
  if (Object.keys(makers).some((name) => !(name in kept))) writeJsonFile(path, all)
  // Through the same door as the environment, so that they are checked alike.
  const { operatorKey, masterKey, tokenKey } = readSettings(all).settings
  return {
    ...settings,
    operatorKey: settings.operatorKey ?? operatorKey,
    masterKey: settings.masterKey ?? masterKey,
    tokenKey: settings.tokenKey ?? tokenKey,
  }
}
