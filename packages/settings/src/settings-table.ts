import { hostname } from 'node:os'
import { address, es256Key, flag, integer, key32, keys32, oneOf, type Setting, text } from './kinds.ts'

const web = ['http', 'https']
const postgres = ['postgres', 'postgresql']
const redis = ['redis', 'rediss', 'redis-sentinel', 'rediss-sentinel', 'redis-cluster', 'rediss-cluster']

/** Every setting of every program, in the order of the documentation. */
export const settingsTable = {
  host: text('HERALD_HOST', 'Address to listen on.', { fallback: '127.0.0.1' }),
  port: integer('HERALD_PORT', 'Port of the HTTP interface.', 7100, [1, 65535]),
  dataDir: text('HERALD_DATA_DIR', 'Where the standalone keeps its database and its secrets.', {
    fallback: '.herald',
  }),
  databaseUrl: address(
    'DATABASE_URL',
    'PostgreSQL 14 or newer. Every program but the standalone needs it.',
    postgres,
    {
      fallback: undefined,
      fallbackText: 'the standalone runs its own',
      secret: true,
    },
  ),
  queueUrl: address(
    'QUEUE_URL',
    'Where jobs travel: `redis://host:6379/0`, `rediss://…`, `redis-sentinel://host1:26379,host2:26379/master`, `redis-cluster://host1:7000,host2:7000` or `postgres://…`.',
    [...redis, ...postgres],
    { fallback: undefined, fallbackText: 'the same as `DATABASE_URL`', secret: true },
  ),
  publicUrl: address(
    'HERALD_PUBLIC_URL',
    'Address under which vendors reach this service for receipts, and browsers its console.',
    web,
    {
      fallback: undefined,
      fallbackText: 'no receipts are asked for; the standalone uses its own address',
    },
  ),
  operatorKey: text(
    'HERALD_OPERATOR_KEY',
    'The operator’s key, sent as `authorization: Bearer …`; 16 characters or more.',
    {
      least: 16,
      fallback: undefined,
      fallbackText: 'the standalone makes one',
      secret: true,
    },
  ),
  masterKey: key32(
    'HERALD_MASTER_KEY',
    'Seals vendor credentials in the database: 32 bytes in hex or base64.',
    {
      fallback: undefined,
      fallbackText: 'the standalone makes one',
      secret: true,
    },
  ),
  otherMasterKeys: keys32(
    'HERALD_OTHER_MASTER_KEYS',
    'Further master keys that open what they sealed and seal nothing, separated by commas: the next and the former one while keys are rotated (see operations.md).',
    { fallbackText: 'none', secret: true },
  ),
  tokenKey: es256Key('HERALD_TOKEN_KEY', 'Signs access tokens (ES256): a P-256 private key in PEM.', {
    fallback: undefined,
    fallbackText: 'made once and kept sealed in the database; the standalone keeps it in its data directory',
    secret: true,
  }),
  tokenDays: integer('HERALD_TOKEN_DAYS', 'How long an access token is good for.', 7, [1, 3650]),
  register: flag('HERALD_REGISTER', 'Whether devices without a user may register themselves.', true),
  loginsPerSecond: integer(
    'HERALD_LOGINS_PER_SECOND',
    'Logins that one address may try per second, with twice as many at once.',
    100,
    [1, 100_000],
  ),
  registrationsPerSecond: integer(
    'HERALD_REGISTRATIONS_PER_SECOND',
    'Devices without a user that one address may register per second, with twice as many at once.',
    50,
    [1, 100_000],
  ),
  trustedProxies: integer(
    'HERALD_TRUSTED_PROXIES',
    'How many proxies in front of the HTTP interface add the address they saw to `x-forwarded-for`; 0 = the header is not believed.',
    0,
    [0, 10],
  ),
  probeAttachments: flag(
    'HERALD_PROBE_ATTACHMENTS',
    'Whether the size of a picture is looked up before it is accepted.',
    false,
  ),
  ackSeconds: integer(
    'HERALD_ACK_SECONDS',
    'How long a device has to acknowledge a native message before its vendor channel is used; 0 = for ever.',
    10,
    [0, 86_400],
  ),
  gatewayPort: integer(
    'HERALD_GATEWAY_PORT',
    'Port of the native channel in `worker-native`; the standalone serves it on `HERALD_PORT`.',
    7105,
    [1, 65535],
  ),
  gatewayTlsCertFile: text(
    'HERALD_GATEWAY_TLS_CERT',
    'PEM file with the certificate chain of the native channel; a renewed file is read without a restart.',
    { fallback: undefined, fallbackText: 'no TLS' },
  ),
  gatewayTlsKeyFile: text('HERALD_GATEWAY_TLS_KEY', 'PEM file with the private key of that certificate.', {
    fallback: undefined,
    fallbackText: 'no TLS',
  }),
  gatewayPerAddress: integer(
    'HERALD_GATEWAY_PER_ADDRESS',
    'Most connections of one address to a gateway; 0 = any number, for gateways behind a balancer that hides addresses.',
    5000,
    [0, 1_000_000],
  ),
  retentionDays: integer(
    'HERALD_RETENTION_DAYS',
    'How long tasks and their traces are kept.',
    30,
    [30, 3650],
  ),
  workerConcurrency: integer(
    'HERALD_WORKER_CONCURRENCY',
    'Jobs that a worker works on at once.',
    4,
    [1, 256],
  ),
  sendTimeoutSeconds: integer(
    'HERALD_SEND_TIMEOUT_SECONDS',
    'Time limit of one call to a vendor.',
    15,
    [1, 300],
  ),
  nodeId: text('HERALD_NODE_ID', 'Name of this process among its peers.', {
    fallback: `${hostname()}-${process.pid}`,
    fallbackText: 'host name and process id',
  }),
  metricsPort: integer(
    'HERALD_METRICS_PORT',
    'Port of /healthz, /readyz and /metrics of every program but the standalone, which has them on `HERALD_PORT`; 0 = none.',
    7110,
    [0, 65535],
  ),
  logLevel: oneOf('HERALD_LOG_LEVEL', 'How much is logged.', 'info', [
    'trace',
    'debug',
    'info',
    'warn',
    'error',
    'fatal',
    'silent',
  ]),
  simulators: flag(
    'HERALD_SIMULATORS',
    'Whether the standalone simulates the vendors, but for those whose address is set below; off = the real vendors are called.',
    true,
  ),
  proxy: address('HERALD_PROXY', 'HTTP proxy for calls to vendors.', web, {
    fallback: undefined,
    fallbackText: 'none',
    secret: true,
  }),
  vendorCaFile: text('HERALD_VENDOR_CA', 'PEM file of further authorities to trust when calling vendors.', {
    fallback: undefined,
    fallbackText: 'none',
  }),
  vendorClient: oneOf(
    'HERALD_VENDOR_CLIENT',
    'Whose client speaks to APNs and FCM: our `own`, or as `reference` the libraries `apn` and `firebase-admin`.',
    'own',
    ['own', 'reference'],
  ),
  url: address('HERALD_URL', 'Where the command line finds the HTTP interface.', web, {
    fallback: undefined,
    fallbackText: 'the standalone that runs in `HERALD_DATA_DIR`, else `HERALD_HOST` and `HERALD_PORT`',
  }),
  appId: text('HERALD_APP_ID', 'The application that the command line speaks for.', {
    fallback: undefined,
    fallbackText: 'the demo of the standalone',
  }),
  appSecret: text('HERALD_APP_SECRET', 'The secret of that application.', {
    fallback: undefined,
    fallbackText: 'the demo of the standalone',
    secret: true,
  }),
}

const vendorUrl = (name: string, vendor: string, fallback: string) =>
  address(name, `Where ${vendor} is called.`, web, { fallback })

/** Base addresses of the vendors: another region, a proxy or a simulator replaces them. */
export const vendorUrlTable = {
  apns: vendorUrl('HERALD_APNS_URL', 'APNs (production)', 'https://api.push.apple.com'),
  apnsSandbox: vendorUrl(
    'HERALD_APNS_SANDBOX_URL',
    'APNs (development)',
    'https://api.sandbox.push.apple.com',
  ),
  fcm: vendorUrl('HERALD_FCM_URL', 'FCM', 'https://fcm.googleapis.com'),
  fcmToken: vendorUrl('HERALD_FCM_TOKEN_URL', 'Google’s token exchange', 'https://oauth2.googleapis.com'),
  huawei: vendorUrl('HERALD_HUAWEI_URL', 'Huawei', 'https://push-api.cloud.huawei.com'),
  huaweiAuth: vendorUrl(
    'HERALD_HUAWEI_AUTH_URL',
    'Huawei’s token exchange',
    'https://oauth-login.cloud.huawei.com',
  ),
  honor: vendorUrl('HERALD_HONOR_URL', 'Honor', 'https://push-api.cloud.honor.com'),
  honorAuth: vendorUrl('HERALD_HONOR_AUTH_URL', 'Honor’s token exchange', 'https://iam.developer.honor.com'),
  xiaomi: vendorUrl('HERALD_XIAOMI_URL', 'Xiaomi', 'https://api.xmpush.xiaomi.com'),
  oppo: vendorUrl('HERALD_OPPO_URL', 'OPPO', 'https://api.push.oppomobile.com'),
  oppoIntl: vendorUrl('HERALD_OPPO_INTL_URL', 'OPPO (overseas)', 'https://api-intl.push.oppomobile.com'),
  vivo: vendorUrl('HERALD_VIVO_URL', 'vivo', 'https://api-push.vivo.com.cn'),
  meizu: vendorUrl('HERALD_MEIZU_URL', 'Meizu', 'https://server-api-push.meizu.com'),
  meizuIntl: vendorUrl('HERALD_MEIZU_INTL_URL', 'Meizu (overseas)', 'https://server-api-push.in.meizu.com'),
}

type Values<Table> = { [Key in keyof Table]: Table[Key] extends Setting<infer T> ? T : never }

export type VendorUrls = Readonly<Values<typeof vendorUrlTable>>

/** What every program was told, checked and with defaults; undefined = not set and without a default. */
export type Settings = Readonly<
  Values<typeof settingsTable> & {
    vendorUrls: VendorUrls
    /** Those of `vendorUrls` that the environment names, be it by their default. */
    givenVendorUrls: readonly (keyof VendorUrls)[]
    /** Text of HERALD_VENDOR_CA. */
    vendorCa: string | undefined
  }
>

export const allSettings: readonly Setting<unknown>[] = [
  ...Object.values(settingsTable),
  ...Object.values(vendorUrlTable),
]
