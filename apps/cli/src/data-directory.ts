import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findRunning } from '@herald/embedded'

/** What a standalone leaves in its data directory for people and programs beside it. */
export type Demo = {
  base_url: string
  operator_key?: string
  app_id?: string
  app_secret?: string
  simulators?: Record<string, string>
}

/** demo.json of the directory; undefined when no standalone has been ready there yet. */
export function readDemo(dataDir: string): Demo | undefined {
  const demo = readJson(join(dataDir, 'demo.json'))
  return typeof demo?.base_url === 'string' ? (demo as Demo) : undefined
}

/** Keys that the standalone made for itself, by the names of their settings. */
export function readKeptSecrets(dataDir: string): Record<string, string> {
  return (readJson(join(dataDir, 'secrets.json')) ?? {}) as Record<string, string>
}

/** The Postgres that the standalone runs there right now. */
export const findOwnPostgres = (dataDir: string): string | undefined => findRunning(join(dataDir, 'postgres'))

function readJson(path: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
