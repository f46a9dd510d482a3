import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vendorChannels } from '@herald/domain'
import { readSettings } from '@herald/settings'
import { describe, expect, it } from '@jest/globals'
import { type Loose, parseYaml, programs, read, root } from './deployed-programs.ts'

const compose = parseYaml('docker-compose.yml')
const services: [name: string, service: Loose][] = Object.entries(compose.services)
const ours = services.filter(([, { image }]) => image === 'herald')
/** As compose fills them in when .env says nothing. */
const filledIn = (value: unknown) =>
  String(value).replaceAll(/\$\{\w+(?::?-([^}]*))?\}/g, (_, given) => given ?? '')

describe('docker-compose.yml', () => {
  it('runs every program and every channel, each under its own name', () => {
    const running = ours.filter(([name]) => name !== 'migrate')
    expect(running.map(([name]) => name).sort()).toEqual(programs)
    for (const [name, { command }] of running) expect(command).toBe(`apps/${name}/src/main.ts`)
    for (const channel of [...vendorChannels, 'native'])
      expect(compose.services).toHaveProperty(`worker-${channel}`)
  })

  it('names only files that exist', () => {
    for (const [, { command }] of ours) expect(existsSync(join(root, command))).toBe(true)
    for (const [, { volumes = [] }] of services)
      for (const volume of volumes)
        if (volume.startsWith('./')) expect(existsSync(join(root, volume.split(':')[0]))).toBe(true)
    for (const [, { healthcheck }] of ours)
      if (!healthcheck.disable) expect(existsSync(join(root, healthcheck.test.at(-1)))).toBe(true)
    expect(existsSync(join(root, ours[0]![1].build.dockerfile))).toBe(true)
  })

  it('gives programs settings that they know and accept', () => {
    for (const [, { environment }] of ours) {
      const env = Object.fromEntries(
        Object.entries(environment as Record<string, unknown>).map(([name, value]) => [
          name,
          filledIn(value),
        ]),
      )
      const secrets: Record<string, string> = {
        '/run/secrets/database_url': 'postgres://herald:x@postgres:5432/herald',
        '/run/secrets/herald_operator_key': 'a'.repeat(48),
        '/run/secrets/herald_master_key': 'b'.repeat(64),
      }
      const { settings, warnings } = readSettings(env, (path) => secrets[path] ?? '')
      expect(warnings).toEqual([])
      expect(settings).toMatchObject({
        databaseUrl: 'postgres://herald:x@postgres:5432/herald',
        queueUrl: 'redis://redis:6379/0',
        operatorKey: 'a'.repeat(48),
        trustedProxies: 1,
        metricsPort: 7110,
      })
    }
  })

  it('lets a secret come from the environment when its file is blanked', () => {
    const { environment } = compose.services.api
    for (const name of ['DATABASE_URL', 'HERALD_MASTER_KEY', 'HERALD_OPERATOR_KEY']) {
      expect(environment[name]).toBe(`\${${name}:-}`)
      // Without the colon a blank value stays blank.
      expect(environment[`${name}_FILE`]).toMatch(new RegExp(`^\\$\\{${name}_FILE-/run/secrets/\\w+\\}$`))
    }
  })

  it('gives each program its limits, its time to drain, no root and a way back', () => {
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

  it('keeps jobs through a restart of Redis, never evicts them, and shuts the stores in', () => {
    const { redis, postgres } = compose.services
    expect(redis.command).toContain('--appendonly yes')
    expect(redis.command).toContain('--maxmemory-policy noeviction')
    for (const store of [redis, postgres]) {
      expect(store.networks).toEqual(['stores'])
      expect(store.ports).toBeUndefined()
      expect(store.volumes).toHaveLength(1)
      expect(store.healthcheck.test[0]).toBe('CMD')
    }
    expect(compose.networks.stores.internal).toBe(true)
  })

  it('declares every secret, volume and network that a service uses', () => {
    for (const [, { secrets = [], networks = [], volumes = [] }] of services) {
      for (const secret of secrets) expect(compose.secrets).toHaveProperty(secret)
      for (const network of networks) expect(compose.networks).toHaveProperty(network)
      for (const volume of volumes)
        if (!volume.startsWith('.')) expect(compose.volumes).toHaveProperty(volume.split(':')[0])
    }
  })

  it('reads the secrets that make-secrets.sh makes, which are kept when it runs again', () => {
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
      expect(new URL(secret('database_url')).password).toBe(secret('postgres_password'))
      for (const { file } of Object.values(compose.secrets) as { file: string }[])
        expect(file).toMatch(/^\.\/deploy\/secrets\//)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
