export type GorushOptions = {
  port: number
  /** The sink's port for CONNECT. gorush has no setting for the address of APNs, but uses a proxy. */
  proxyPort: number
  /** PEM of a signing key. */
  key: string
  /** Unset: gorush's default, one per core. */
  workers?: number
  /** Notifications that fit into the queue. The default of 8,192 drops what exceeds it. */
  queue: number
}

/** Settings of gorush in JSON, which is YAML too. What is not needed for the sink has the values of gorush's own default file. */
export function gorushConfig({ port, proxyPort, key, workers = 0, queue }: GorushOptions): string {
  return JSON.stringify({
    core: {
      enabled: true,
      address: '127.0.0.1',
      port: String(port),
      worker_num: workers,
      queue_num: queue,
      max_notification: 1_000,
      sync: false,
      mode: 'release',
      ssl: false,
      http_proxy: `http://127.0.0.1:${proxyPort}`,
      shutdown_timeout: 30,
      pid: { enabled: false },
      auto_tls: { enabled: false },
    },
    grpc: { enabled: false, port: 9000 },
    api: {
      push_uri: '/api/push',
      stat_go_uri: '/api/stat/go',
      stat_app_uri: '/api/stat/app',
      config_uri: '/api/config',
      sys_stat_uri: '/sys/stats',
      metric_uri: '/metrics',
      health_uri: '/healthz',
    },
    android: { enabled: false },
    huawei: { enabled: false },
    queue: { engine: 'local' },
    ios: {
      enabled: true,
      key_base64: Buffer.from(key).toString('base64'),
      key_type: 'p8',
      production: true,
      max_concurrent_pushes: 100,
      max_retry: 0,
      key_id: 'BENCHKEY01',
      team_id: 'BENCHTEAM1',
    },
    log: {
      format: 'string',
      access_log: 'stdout',
      access_level: 'info',
      error_log: 'stderr',
      error_level: 'error',
      hide_token: true,
    },
    stat: { engine: 'memory' },
  })
}

/** Tokens of one notification, and notifications of one request. */
const TOKENS = 1_000
const NOTIFICATIONS = 100

type Message = { title: string; body: string; badge?: number }

/** Requests that push a message to all tokens. */
export function pushRequests(tokens: readonly string[], message: Message): string[] {
  const notifications = chunks(tokens, TOKENS).map((some) => ({
    tokens: some,
    platform: 1,
    topic: 'com.example.bench',
    title: message.title,
    message: message.body,
    ...(message.badge !== undefined && { badge: message.badge }),
  }))
  return chunks(notifications, NOTIFICATIONS).map((some) => JSON.stringify({ notifications: some }))
}

function chunks<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, n) => list.slice(n * size, (n + 1) * size))
}
