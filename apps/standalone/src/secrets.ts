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
 * Adds the secrets that the environment does not set. They are generated at the first start and stored in the data
 * directory, because the data in the database is encrypted with them.
 */
export function withKeptSecrets(settings: Settings, dataDir: string): Settings {
  const path = join(dataDir, 'secrets.json')
  const kept = readJsonFile<Secrets>(path, 'the keys of the database')
  const all = Object.fromEntries(
    Object.entries(makers).map(([name, make]) => [name, kept[name as keyof Secrets] ?? make()]),
  ) as Secrets
  if (Object.keys(makers).some((name) => !(name in kept))) writeJsonFile(path, all)
  // Read like the environment, so that the same checks apply.
  const { operatorKey, masterKey, tokenKey } = readSettings(all).settings
  return {
    ...settings,
    operatorKey: settings.operatorKey ?? operatorKey,
    masterKey: settings.masterKey ?? masterKey,
    tokenKey: settings.tokenKey ?? tokenKey,
  }
}
