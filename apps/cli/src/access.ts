import { baseUrlOf, type Demo, type Settings } from '@herald/settings'

/** Flags that select the server and the credentials. */
export type AccessFlags = { url?: string; app?: string; secret?: string; operatorKey?: string }

export type Access = { baseUrl: string; appId?: string; appSecret?: string; operatorKey?: string }

/**
 * Flags override the environment, and the demo of the data directory is the default. Its keys are only sent to its own server,
 * and its secret only for its own application. Pure.
 */
export function findAccess(
  flags: AccessFlags,
  settings: Pick<Settings, 'url' | 'host' | 'port' | 'appId' | 'appSecret' | 'operatorKey'>,
  demo: Demo | undefined,
): Access {
  const given = (flags.url ?? settings.url)?.replace(/\/+$/, '')
  const baseUrl = given ?? demo?.base_url ?? baseUrlOf(settings)
  const own = demo?.base_url === baseUrl ? demo : undefined
  const appId = flags.app ?? settings.appId ?? own?.app_id
  return {
    baseUrl,
    appId,
    appSecret: flags.secret ?? settings.appSecret ?? (appId === own?.app_id ? own?.app_secret : undefined),
    operatorKey: flags.operatorKey ?? settings.operatorKey ?? own?.operator_key,
  }
}
