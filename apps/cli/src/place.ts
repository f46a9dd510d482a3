import type { Settings } from '@herald/settings'
import type { Demo } from './data-directory.ts'

/** Flags that say where Herald is and who is calling. */
export type PlaceFlags = { url?: string; app?: string; secret?: string; operatorKey?: string }

export type Place = { baseUrl: string; appId?: string; appSecret?: string; operatorKey?: string }

/**
 * Flags win over the environment, and the demo of the data directory fills in for newcomers. Its keys go to no other server
 * than its own, and its secret with no other application. Pure.
 */
export function findPlace(
  flags: PlaceFlags,
  settings: Pick<Settings, 'url' | 'host' | 'port' | 'appId' | 'appSecret' | 'operatorKey'>,
  demo: Demo | undefined,
): Place {
  const named = trimmed(flags.url ?? settings.url)
  const baseUrl = named ?? demo?.base_url ?? addressOf(settings)
  const own = demo?.base_url === baseUrl ? demo : undefined
  const appId = flags.app ?? settings.appId ?? own?.app_id
  return {
    baseUrl,
    appId,
    appSecret: flags.secret ?? settings.appSecret ?? (appId === own?.app_id ? own?.app_secret : undefined),
    operatorKey: flags.operatorKey ?? settings.operatorKey ?? own?.operator_key,
  }
}

const trimmed = (url: string | undefined) => url?.replace(/\/+$/, '')

/** An address that programs of this machine can call. */
function addressOf({ host, port }: Pick<Settings, 'host' | 'port'>): string {
  const open = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${open.includes(':') ? `[${open}]` : open}:${port}`
}
