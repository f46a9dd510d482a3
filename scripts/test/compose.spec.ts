import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vendorChannels } from '@herald/domain'
import { openQueues, parseQueueUrl } from '@herald/queue'
import { readSettings } from '@herald/settings'
import { describeWith, freePort, startProcess } from '@herald/testkit'
import { describe, expect, it } from '@jest/globals'
import { type Loose, parseYaml, programs, read, root } from './deployed-programs.ts'

const compose = parseYaml('docker-compose.yml')
const services: [name: string, service: Loose][] = Object.entries(compose.services)
const ours = services.filter(([, { image }]) => image === 'herald')
/** The defaults that compose uses without .env. */
const withDefaults = (value: unknown) =>
  String(value).replaceAll(/\$\{\w+(?::?-([^}]*))?\}/g, (_, given) => given ?? '')
const secrets: Record<string, string> = {
  '/run/secrets/database_url': 'postgres://herald:x@postgres:5432/herald',
  '/run/secrets/queue_url': 'redis://:y@redis:6379/0',
  '/run/secrets/herald_operator_key': 'a'.repeat(48),
  '/run/secrets/herald_master_key': 'b'.repeat(64),
}
/** The settings of a service without .env. Like Docker, it provides only the secrets that the service lists. */
const settingsOf = ({ environment, secrets: listed }: Loose) =>
  readSettings(
    Object.fromEntries(
      Object.entries(environment as Record<string, unknown>).map(([name, value]) => [
        name,
        withDefaults(value),
      ]),
    ),
    (path) => {
      if (!listed.includes(path.replace('/run/secrets/', ''))) throw new Error(`${path} is not listed`)
      return secrets[path]!
    },
  )

describe('docker-compose.yml', () => {
  it('runs every program and every channel, each under its own name', () => {
    const running = ours.filter(([name]) => name !== 'migrate')
    expect(running.map(([name]) => name).sort()).toEqual(programs)
    for (const [name, { command }] of running) expect(command).toBe(`apps/${name}/src/main.ts`)
    for (const channel of [...vendorChannels, 'native'])
      expect(compose.services).toHaveProperty(`worker-${channel}`)
  })

  it('uses existing files', () => {
    for (const [, { command }] of ours) expect(existsSync(join(root, command))).toBe(true)
    for (const [, { volumes = [] }] of services)
      for (const volume of volumes)
        if (volume.startsWith('./')) expect(existsSync(join(root, volume.split(':')[0]))).toBe(true)
    for (const [, { healthcheck }] of ours)
      if (!healthcheck.disable) expect(existsSync(join(root, healthcheck.test.at(-1)))).toBe(true)
    expect(existsSync(join(root, ours[0]![1].build.dockerfile))).toBe(true)
  })

  it('sets known and valid settings', () => {
    for (const [name, service] of ours) {
      const { settings, warnings } = settingsOf(service)
      expect(warnings).toEqual([])
      expect(settings.databaseUrl).toBe('postgres://herald:x@postgres:5432/herald')
      if (name === 'migrate') continue
      expect(settings).toMatchObject({
        queueUrl: 'redis://:y@redis:6379/0',
        masterKey: Buffer.from('b'.repeat(64), 'hex'),
        trustedProxies: 1,
        metricsPort: 7110,
      })
    }
  })

  it('gives each program only the secrets that it needs', () => {
    for (const [name, service] of ours) {
      const { operatorKey, masterKey, queueUrl } = settingsOf(service).settings
      expect([name, operatorKey !== undefined]).toEqual([name, name === 'api'])
      const given = [masterKey, queueUrl].map((value) => value !== undefined)
      expect([name, ...given]).toEqual([name, name !== 'migrate', name !== 'migrate'])
      expect([name, service.secrets.length]).toEqual([name, name === 'api' ? 4 : name === 'migrate' ? 1 : 3])
    }
  })

  it('takes the keys of a rotation from .env, each for the programs that use it', () => {
    const given = (name: string) =>
      ours.filter(([, { environment }]) => name in environment).map(([service]) => service)
    expect(given('HERALD_OTHER_MASTER_KEYS').sort()).toEqual(programs)
    expect(given('HERALD_TOKEN_KEY')).toEqual(['api'])
    for (const name of ['HERALD_OTHER_MASTER_KEYS', 'HERALD_TOKEN_KEY'])
      expect(compose.services.api.environment[name]).toBe(`\${${name}:-}`)
  })

  it('has an example of everything that .env may set', () => {
    const example = read('deploy/env.example')
    const names = [...read('docker-compose.yml').matchAll(/\$\{(\w+)/g)].map(([, name]) => name!)
    expect(names.length).toBeGreaterThan(20)
    expect(names.filter((name) => !new RegExp(`^#?${name}=`, 'm').test(example))).toEqual([])
  })

  it('publishes only on this machine unless told otherwise', () => {
    const published = services.flatMap(([, { ports = [] }]) => ports as string[])
    expect(published.length).toBeGreaterThan(0)
    for (const port of published) expect(withDefaults(port)).toMatch(/^127\.0\.0\.1:\d+:\d+$/)
    expect(compose.services.proxy.ports[0]).toMatch(/^\$\{HERALD_HOST:-/)
    expect(compose.services.api.environment.HERALD_TRUSTED_PROXIES).toMatch(/^\$\{HERALD_TRUSTED_PROXIES:-/)
  })

  it('starts on a machine with two CPUs and with a low limit of open files', () => {
    for (const [, { deploy, ulimits }] of services) {
      expect(Number(withDefaults(deploy.resources.limits.cpus))).toBeLessThanOrEqual(2)
      // Docker refuses to start a container with a limit above its own. Node and nginx raise theirs as far as they may.
      expect(ulimits).toBeUndefined()
    }
  })

  it('reads a secret from the environment when its file is blank', () => {
    const { environment } = compose.services.api
    for (const name of ['DATABASE_URL', 'QUEUE_URL', 'HERALD_MASTER_KEY', 'HERALD_OPERATOR_KEY']) {
      expect(environment[name]).toBe(`\${${name}:-}`)
      // Without the colon a blank value stays blank.
      expect(environment[`${name}_FILE`]).toMatch(new RegExp(`^\\$\\{${name}_FILE-/run/secrets/\\w+\\}$`))
    }
  })

  it('gives each program limits, time to drain, no root and a restart policy', () => {
    for (const [name, service] of ours) {
      expect(service.stop_grace_period).toBe('35s')
      expect(service.deploy.resources.limits).toEqual({
        cpus: expect.any(String),
        memory: expect.any(String),
      })
      expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'] })
      expect(service.restart).toBe(name === 'migrate' ? 'no' : 'unless-stopped')
      expect(service.ports).toBeUndefined()
      if (name !== 'migrate')
        expect(service.depends_on.migrate).toEqual({ condition: 'service_completed_successfully' })
    }
    expect(read('deploy/Dockerfile')).toMatch(/^USER 1000:1000$/m)
  })

  it('keeps jobs over a restart of Redis, never evicts them, and isolates the stores', () => {
    const { redis, postgres } = compose.services
    expect(redis.command).toContain('--appendonly yes')
    expect(redis.command).toContain('--maxmemory-policy noeviction')
    for (const store of [redis, postgres]) {
      expect(store.networks).toEqual(['stores'])
      expect(store.ports).toBeUndefined()
      expect(store.healthcheck.test[0]).toBe('CMD')
    }
    expect(redis.volumes).toEqual(['redis:/data'])
    expect(postgres.volumes[0]).toBe('postgres:/var/lib/postgresql')
    expect(compose.networks.stores.internal).toBe(true)
  })

  it('connects to Postgres with a role that is no superuser', () => {
    const { postgres } = compose.services
    // The image makes POSTGRES_USER a superuser; the default is `postgres`.
    expect(postgres.environment).toEqual({ POSTGRES_PASSWORD_FILE: '/run/secrets/postgres_password' })
    const script = 'deploy/postgres/create-role.sh'
    expect(postgres.volumes).toContain(`./${script}:/docker-entrypoint-initdb.d/create-role.sh:ro`)
    expect(postgres.secrets).toContain('database_url')
    expect(read(script)).toMatch(/^CREATE ROLE herald LOGIN PASSWORD :'password';$/m)
  })

  it('declares every secret, volume and network that a service uses', () => {
    for (const [, { secrets = [], networks = [], volumes = [] }] of services) {
      for (const secret of secrets) expect(compose.secrets).toHaveProperty(secret)
      for (const network of networks) expect(compose.networks).toHaveProperty(network)
      for (const volume of volumes)
        if (!volume.startsWith('.')) expect(compose.volumes).toHaveProperty(volume.split(':')[0])
    }
  })

  it('reads the secrets that make-secrets.sh creates, which a second run keeps', () => {
    const folder = mkdtempSync(join(tmpdir(), 'herald-secrets-'))
    try {
      const make = () =>
        execFileSync('sh', [join(root, 'deploy/make-secrets.sh'), folder], { encoding: 'utf8' })
      expect(make()).toMatch(/^made /)
      const first = Object.keys(compose.secrets).map((name) => readFileSync(join(folder, name), 'utf8'))
      expect(make()).not.toContain('made')
      expect(Object.keys(compose.secrets).map((name) => readFileSync(join(folder, name), 'utf8'))).toEqual(
        first,
      )
      expect(statSync(folder).mode & 0o777).toBe(0o700)
      const secret = (name: string) => readFileSync(join(folder, name), 'utf8')
      readSettings({
        DATABASE_URL: secret('database_url'),
        HERALD_MASTER_KEY: secret('herald_master_key'),
        HERALD_OPERATOR_KEY: secret('herald_operator_key'),
      })
      expect(new URL(secret('database_url')).password).not.toBe(secret('postgres_password'))
      expect(parseQueueUrl(secret('queue_url'))).toMatchObject({
        hosts: [{ host: 'redis', port: 6379 }],
        password: /^requirepass (\w{48})$/.exec(secret('redis_config'))?.[1],
      })
      for (const { file } of Object.values(compose.secrets) as { file: string }[])
        expect(file).toMatch(/^\.\/deploy\/secrets\//)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('starts Redis with a password from a secret', () => {
    const { command, secrets, healthcheck } = compose.services.redis
    expect(command).toMatch(/^redis-server \/run\/secrets\/redis_config /)
    expect(secrets).toEqual(['redis_config'])
    expect(healthcheck.test.at(-1)).toContain('REDISCLI_AUTH=')
  })
})

describeWith('redis-server', 'redis-cli')('Redis of docker-compose.yml', () => {
  it('refuses a client without the password', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'herald-redis-'))
    execFileSync('sh', [join(root, 'deploy/make-secrets.sh'), folder])
    const port = await freePort()
    const { command, healthcheck } = compose.services.redis
    const [program, ...args] = command.replace('/run/secrets', folder).split(' ')
    const redis = startProcess(program, [...args, '--port', String(port), '--dir', folder])
    const check = healthcheck.test
      .at(-1)
      .replaceAll('$$', '$')
      .replace('/run/secrets', folder)
      .replace('redis-cli', `redis-cli -p ${port}`)
    const url = readFileSync(join(folder, 'queue_url'), 'utf8').replace('@redis:6379', `@127.0.0.1:${port}`)
    try {
      await redis.prints(/Ready to accept connections/)
      expect(execFileSync('redis-cli', ['-p', String(port), 'ping'], { encoding: 'utf8' })).toMatch(/^NOAUTH/)
      execFileSync('sh', ['-c', check])
      const log = { warn() {}, error() {} }
      const queues = await openQueues({ url, log, limitMs: 60_000 })
      await queues.ping().finally(queues.close)
    } finally {
      await redis.stop('SIGKILL')
      rmSync(folder, { recursive: true })
    }
  })
})
