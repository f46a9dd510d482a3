import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import {
  baseUrlOf,
  inspectSettings,
  readSettings,
  requireSetting,
  SettingsError,
  settingsDocument,
} from '../src/index.ts'

const read = (env: Record<string, string>, files: Record<string, string> = {}) =>
  readSettings(env, (path) => {
    const text = files[path]
    if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
    return text
  })
const settingsOf = (env: Record<string, string>) => read(env).settings
const pem = (curve: string) =>
  generateKeyPairSync('ec', { namedCurve: curve })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString()
const p256 = pem('prime256v1')

describe('readSettings', () => {
  it('has defaults', () => {
    const settings = settingsOf({})
    expect(settings).toMatchObject({
      host: '127.0.0.1',
      port: 7100,
      dataDir: '.herald',
      databaseUrl: undefined,
      tokenDays: 7,
      register: true,
      probeAttachments: false,
      ackSeconds: 10,
      retentionDays: 30,
      logLevel: 'info',
    })
    expect(settings.vendorUrls.apns).toBe('https://api.push.apple.com')
  })

  it('treats a blank value as not set', () => {
    expect(settingsOf({ HERALD_PORT: '  ', DATABASE_URL: '' })).toMatchObject({
      port: 7100,
      databaseUrl: undefined,
    })
  })

  it('parses values', () => {
    const settings = settingsOf({
      HERALD_PORT: ' 8080 ',
      HERALD_REGISTER: 'off',
      HERALD_ACK_SECONDS: '0',
      HERALD_XIAOMI_URL: 'http://127.0.0.1:9000/',
      HERALD_PROXY: 'http://me:100%25@proxy:3128',
      HERALD_DATABASE_CONNECTIONS: '25',
      HERALD_DATABASE_PREPARE: 'off',
      QUEUE_URL: 'redis-sentinel://a:26379,b:26379/main',
      HERALD_MASTER_KEY: 'ab'.repeat(32),
    })
    expect(settings).toMatchObject({
      port: 8080,
      register: false,
      ackSeconds: 0,
      databaseConnections: 25,
      databasePrepare: false,
      proxy: 'http://me:100%25@proxy:3128',
      queueUrl: 'redis-sentinel://a:26379,b:26379/main',
      masterKey: Buffer.alloc(32, 0xab),
    })
    expect(settings.vendorUrls.xiaomi).toBe('http://127.0.0.1:9000')
  })

  it('lists the vendor URLs that were set, even to their defaults', () => {
    const { vendorUrls } = settingsOf({})
    const given = settingsOf({
      HERALD_APNS_URL: vendorUrls.apns,
      HERALD_VIVO_URL: 'http://x',
      HERALD_FCM_URL: ' ',
    })
    expect(given.givenVendorUrls).toEqual(['apns', 'vivo'])
    expect(given.vendorUrls.apns).toBe(vendorUrls.apns)
  })

  it('accepts the master key in base64', () => {
    const key = Buffer.alloc(32, 7)
    expect(settingsOf({ HERALD_MASTER_KEY: key.toString('base64') }).masterKey).toEqual(key)
    expect(settingsOf({ HERALD_MASTER_KEY: key.toString('base64url') }).masterKey).toEqual(key)
  })

  it('accepts a private key with escaped line ends', () => {
    expect(settingsOf({ HERALD_TOKEN_KEY: p256.replaceAll('\n', '\\n') }).tokenKey).toBe(`${p256.trim()}\n`)
  })

  it.each<[Record<string, string>, string | RegExp]>([
    [{ HERALD_PORT: 'http' }, 'HERALD_PORT must be a whole number from 1 to 65535, not "http".'],
    [{ HERALD_PORT: '0' }, 'HERALD_PORT must be a whole number from 1 to 65535, not "0".'],
    [{ HERALD_PORT: '1e3' }, 'HERALD_PORT must be a whole number from 1 to 65535, not "1e3".'],
    [{ HERALD_REGISTER: 'yes' }, 'HERALD_REGISTER must be on or off, not "yes".'],
    [{ HERALD_SIMULATORS: 'no' }, 'HERALD_SIMULATORS must be on or off, not "no".'],
    [{ HERALD_RETENTION_DAYS: '0' }, 'HERALD_RETENTION_DAYS must be a whole number from 1 to 400, not "0".'],
    [
      { HERALD_LOG_LEVEL: 'loud' },
      'HERALD_LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent, not "loud".',
    ],
    [
      { DATABASE_URL: 'mysql://user:hush@host/db' },
      'DATABASE_URL must be a URL that begins with postgres:// or postgresql://.',
    ],
    [
      { QUEUE_URL: 'redis://' },
      /^QUEUE_URL must be a URL that begins with redis:\/\/ or .*postgresql:\/\/\.$/,
    ],
    [
      { HERALD_PUBLIC_URL: 'push.example.com' },
      'HERALD_PUBLIC_URL must be a URL that begins with http:// or https://, not "push.example.com".',
    ],
    [{ HERALD_FCM_URL: 'https://[' }, 'HERALD_FCM_URL must be a valid URL, not "https://[".'],
    [{ HERALD_PROXY: 'http://a:3128,b:3128' }, 'HERALD_PROXY must be a valid URL.'],
    [{ DATABASE_URL: 'postgres://a:5432,b:5432/db' }, 'DATABASE_URL must be a valid URL.'],
    [
      { HERALD_PROXY: 'http://me:100%@proxy:3128' },
      'HERALD_PROXY must have a percent sign in its user name or password written as %25.',
    ],
    [
      { HERALD_PROXY: 'http://m%e:hush@proxy:3128' },
      'HERALD_PROXY must have a percent sign in its user name or password written as %25.',
    ],
    [{ HERALD_MASTER_KEY: 'hush' }, 'HERALD_MASTER_KEY must be 32 bytes in hex or base64.'],
    [{ HERALD_OPERATOR_KEY: 'short' }, 'HERALD_OPERATOR_KEY must have 16 characters or more.'],
    [{ HERALD_TOKEN_KEY: 'hush' }, 'HERALD_TOKEN_KEY must be an EC private key on the curve P-256 in PEM.'],
    [
      { HERALD_TOKEN_KEY: pem('secp384r1') },
      'HERALD_TOKEN_KEY must be an EC private key on the curve P-256 in PEM.',
    ],
    [{ HERALD_VENDOR_CA: '/none' }, 'HERALD_VENDOR_CA names the file /none, which cannot be read (ENOENT).'],
    [
      { HERALD_MASTER_KEY_FILE: '/none' },
      'HERALD_MASTER_KEY_FILE names the file /none, which cannot be read (ENOENT).',
    ],
    [
      { HERALD_MASTER_KEY_FILE: '/key', HERALD_MASTER_KEY: 'ab' },
      'HERALD_MASTER_KEY and HERALD_MASTER_KEY_FILE are both set; remove one of them.',
    ],
  ])('refuses case %# with one sentence', (env, sentence) => {
    expect(() => read(env)).toThrow(SettingsError)
    expect(() => read(env)).toThrow(sentence)
  })

  it('reads secrets from files', () => {
    const { settings } = read(
      { DATABASE_URL_FILE: '/url', HERALD_VENDOR_CA: '/ca.pem' },
      { '/url': 'postgres://u:p@host/db\n', '/ca.pem': 'PEM' },
    )
    expect(settings).toMatchObject({ databaseUrl: 'postgres://u:p@host/db', vendorCa: 'PEM' })
  })

  it('warns about unknown names', () => {
    expect(
      read({ HERALD_PROT: '1', HERALD_PORT: '1', HERALD_PORT_FILE: '/x', PATH: '/bin' }).warnings,
    ).toEqual([
      'HERALD_PORT_FILE is set, but Herald has no such setting.',
      'HERALD_PROT is set, but Herald has no such setting.',
    ])
  })
})

describe('inspectSettings', () => {
  it('reports every problem and reads the rest', () => {
    const { settings, problems, warnings } = inspectSettings({
      HERALD_PORT: 'http',
      HERALD_OPERATOR_KEY: 'short',
      HERALD_MASTER_KEY: 'x',
      HERALD_MASTER_KEY_FILE: '/x',
      DATABASE_URL_FILE: '/nowhere',
      HERALD_TOKEN_DAYS: '9',
      HERALD_PROT: '1',
    })
    expect(problems).toEqual([
      'HERALD_PORT must be a whole number from 1 to 65535, not "http".',
      'DATABASE_URL_FILE names the file /nowhere, which cannot be read (ENOENT).',
      'HERALD_OPERATOR_KEY must have 16 characters or more.',
      'HERALD_MASTER_KEY and HERALD_MASTER_KEY_FILE are both set; remove one of them.',
    ])
    expect(settings).toMatchObject({ port: 7100, tokenDays: 9, operatorKey: undefined })
    expect(warnings).toEqual(['HERALD_PROT is set, but Herald has no such setting.'])
  })
})

describe('baseUrlOf', () => {
  it.each([
    ['127.0.0.1', 'http://127.0.0.1:7100'],
    ['0.0.0.0', 'http://127.0.0.1:7100'],
    ['::', 'http://127.0.0.1:7100'],
    ['::1', 'http://[::1]:7100'],
    ['herald.local', 'http://herald.local:7100'],
  ])('of a listener on %s is %s', (host, url) => expect(baseUrlOf({ host, port: 7100 })).toBe(url))
})

describe('requireSetting', () => {
  it('names the missing variable', () => {
    expect(() => requireSetting(settingsOf({}), 'databaseUrl')).toThrow(
      /^DATABASE_URL is not set: PostgreSQL 14/,
    )
    expect(requireSetting(settingsOf({ DATABASE_URL: 'postgres://h/d' }), 'databaseUrl')).toBe(
      'postgres://h/d',
    )
  })
})

describe('docs/settings.md', () => {
  it('is up to date; write it with scripts/write-settings-document.ts', () => {
    const path = join(import.meta.dirname, '../../../docs/settings.md')
    expect(readFileSync(path, 'utf8')).toBe(settingsDocument())
  })
})
