import { readFileSync, statSync } from 'node:fs'
import type { Server } from 'node:https'
import { type Settings, SettingsError } from '@herald/settings'
import type { Logger } from '@herald/telemetry'

/** Paths of the certificate and the key of the gateway's own port. */
export type TlsFiles = { cert: string; key: string }

export function tlsFiles({
  gatewayTlsCertFile: cert,
  gatewayTlsKeyFile: key,
}: Settings): TlsFiles | undefined {
  if (cert === undefined && key === undefined) return undefined
  if (cert === undefined || key === undefined)
    throw new SettingsError(
      'HERALD_GATEWAY_TLS_CERT and HERALD_GATEWAY_TLS_KEY must both be set, or neither.',
    )
  return { cert, key }
}

export function readTls({ cert, key }: TlsFiles): { cert: Buffer; key: Buffer } {
  const read = (name: string, file: string) => {
    try {
      return readFileSync(file)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw new SettingsError(`${name} names the file ${file}, which cannot be read (${code}).`)
    }
  }
  return { cert: read('HERALD_GATEWAY_TLS_CERT', cert), key: read('HERALD_GATEWAY_TLS_KEY', key) }
}

/** Returns a function, to be called periodically, that loads the files after they have changed. */
export function watchRenewal(
  server: Pick<Server, 'setSecureContext'>,
  files: TlsFiles,
  log: Pick<Logger, 'warn'>,
): () => void {
  let seen = changedAt(files)
  let failures = 0
  return () => {
    try {
      const now = changedAt(files)
      if (now === seen) return
      server.setSecureContext(readTls(files))
      seen = now
      failures = 0
    } catch (error) {
      // A renewal replaces two files one after the other: a pair that does not match now may do so at the next call.
      if (++failures === 2)
        log.warn(
          { ...files, problem: (error as Error).message },
          'the renewed TLS certificate cannot be loaded; the former one stays in use',
        )
    }
  }
}

function changedAt({ cert, key }: TlsFiles): string {
  return `${statSync(cert).mtimeMs} ${statSync(key).mtimeMs}`
}
