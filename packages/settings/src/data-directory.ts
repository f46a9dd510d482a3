import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** demo.json: what a caller on the same machine needs to try a standalone. Written when the standalone is ready. */
export type Demo = {
  base_url: string
  operator_key: string
  app_id?: string
  app_secret?: string
  admin_token?: string
  user?: { user_id: number; username: string; password: string }
  /** Base URL by public channel name. */
  simulators?: Record<string, string>
}

/** Undefined when no standalone has been ready in this data directory yet. */
export function readDemo(dataDir: string): Demo | undefined {
  const demo = readJson(join(dataDir, 'demo.json'))
  return typeof demo?.base_url === 'string' ? (demo as Demo) : undefined
}

/** The secrets that a standalone generated for itself, by the names of their settings. */
export function readKeptSecrets(dataDir: string): Record<string, string> {
  return (readJson(join(dataDir, 'secrets.json')) ?? {}) as Record<string, string>
}

function readJson(path: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
