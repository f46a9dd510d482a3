import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { startProcess } from './processes.ts'
import { findProgram } from './programs.ts'

export type TestPooler = {
  /** The same database through the pooler. */
  url: string
  stop(): Promise<void>
}

/** Starts a PgBouncer in transaction mode in front of a server. Use it in suites of `describeWith('pgbouncer')`. */
export async function startPgBouncer(url: string, sessions = 4): Promise<TestPooler> {
  const program = findProgram('pgbouncer')
  if (!program) throw new Error('pgbouncer is not installed.')
  const target = new URL(url)
  const dir = mkdtempSync(join(tmpdir(), 'herald-pgbouncer-'))
  const file = join(dir, 'pgbouncer.ini')
  const port = await freePort()
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    // The users of the clients are ignored; that of the line above is used.
    auth_type: 'any',
    pool_mode: 'transaction',
    default_pool_size: sessions,
    max_client_conn: 200,
    ignore_startup_parameters: 'options,extra_float_digits',
    ...(keepsPrepared() && { max_prepared_statements: 200 }),
    // It refuses to run as root.
    ...(process.getuid?.() === 0 && { user: 'nobody' }),
  }
  const server = `host=${target.hostname} port=${target.port} user=${target.username} password=${decodeURIComponent(target.password)}`
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  writeFileSync(file, ['[databases]', `* = ${server}`, '[pgbouncer]', ...lines, ''].join('\n'))
  chmodSync(dir, 0o755)
  chmodSync(file, 0o644)
  const pooler = startProcess(program, [file])
  await pooler.prints(/process up/)
  return {
    url: Object.assign(new URL(url), { port: String(port) }).href,
    async stop() {
      await pooler.stop('SIGKILL')
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** Whether the installed PgBouncer keeps prepared statements in transaction mode, as 1.21 and newer do. */
export function keepsPrepared(): boolean {
  const program = findProgram('pgbouncer')
  if (!program) return false
  const [, major, minor] =
    /(\d+)\.(\d+)/.exec(execFileSync(program, ['--version'], { encoding: 'utf8' })) ?? []
  return Number(major) > 1 || Number(minor) >= 21
}
