const dataDirName = 'herald.data_dir'
export const dataDirSetting = (dataDir: string) => `${dataDirName}=${dataDir}`

/** Command line settings for a machine with two cores and a few gigabytes of memory, shared with Herald itself. */
export function serverOptions(options: {
  port: number
  dataDir: string
  durable: boolean
  /** Replace the defaults. */
  settings?: Record<string, string>
}): string[] {
  const settings: Record<string, string> = {
    port: String(options.port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '100',
    // A search locks 40 tables and indexes for each day with tasks that have not ended; pushes may be scheduled for any time ahead.
    max_locks_per_transaction: '512',
    shared_buffers: '256MB',
    effective_cache_size: '1GB',
    work_mem: '16MB',
    maintenance_work_mem: '128MB',
    random_page_cost: '1.1',
    // Compiling a statement takes longer than running any of ours.
    jit: 'off',
    // There is no replica, so the WAL needs nothing that only a replica reads.
    wal_level: 'minimal',
    max_wal_senders: '0',
    max_wal_size: '2GB',
    checkpoint_timeout: '15min',
    // A look takes 15 ms, because of the partitions. Updated rows are cleaned up without it, on pages with room for them.
    autovacuum_naptime: '60s',
    // The usual number, instead of the one in the configuration file (cluster.ts).
    scram_iterations: '4096',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_checkpoints: 'off',
    // Not used by the server: shows in `ps` whose server this is, also to processes.ts.
    [dataDirName]: options.dataDir,
    ...(options.durable ? {} : disposable),
    ...options.settings,
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/** For tests: data may be lost, and many processes connect. */
const disposable = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '300',
  shared_buffers: '128MB',
  max_wal_size: '4GB',
}
