import { QueueUrlError } from './errors.ts'

export type QueueAddress = { kind: 'postgres'; url: string } | RedisAddress

export type RedisAddress = {
  kind: 'redis'
  topology: 'single' | 'sentinel' | 'cluster'
  hosts: { host: string; port: number }[]
  tls: boolean
  username?: string
  password?: string
  db: number
  /** Separates several Herald installations in one Redis; a Cluster has no database numbers. */
  prefix: string
  /** The name of the master that the Sentinels monitor, and their credentials if they differ. */
  sentinel?: { name: string; username?: string; password?: string }
}

const schemes: Record<string, { topology: RedisAddress['topology']; tls: boolean }> = {
  redis: { topology: 'single', tls: false },
  rediss: { topology: 'single', tls: true },
  'redis-sentinel': { topology: 'sentinel', tls: false },
  'rediss-sentinel': { topology: 'sentinel', tls: true },
  'redis-cluster': { topology: 'cluster', tls: false },
  'rediss-cluster': { topology: 'cluster', tls: true },
}

const parameters = {
  single: ['prefix'],
  sentinel: ['prefix', 'sentinel_username', 'sentinel_password'],
  cluster: ['prefix'],
}

/**
 * Reads an address such as `redis://user:password@host:6379/0`, `redis-sentinel://host:26379,host2/master/0`,
 * `redis-cluster://host:7000,host2:7000` or `postgres://…`. A list of hosts is not a valid URL, so it is parsed by hand.
 */
export function parseQueueUrl(text: string): QueueAddress {
  const scheme = /^([a-z-]+):\/\//i.exec(text)?.[1]?.toLowerCase()
  if (scheme === 'postgres' || scheme === 'postgresql') {
    if (!URL.canParse(text)) throw new QueueUrlError('the queue address is not a valid Postgres URL')
    return { kind: 'postgres', url: text }
  }
  const known = scheme === undefined ? undefined : schemes[scheme]
  if (!scheme || !known) {
    throw new QueueUrlError(
      `the queue address must begin with ${Object.keys(schemes).join('://, ')}:// or postgres://`,
    )
  }
  const { topology, tls } = known
  const rest = text.slice(scheme.length + 3)
  const [beforeQuery, query] = cut(rest, rest.indexOf('?'))
  const [authority, path] = cut(beforeQuery, beforeQuery.indexOf('/', beforeQuery.lastIndexOf('@') + 1))
  const at = authority.lastIndexOf('@')
  const [username, password] = at < 0 ? [] : readCredentials(authority.slice(0, at))
  const options = readParameters(query, topology)
  const segments = path === '' ? [] : path.split('/').map((part) => decode(part, 'path'))
  const name = topology === 'sentinel' ? segments.shift() : undefined
  if (topology === 'sentinel' && !name) {
    throw new QueueUrlError('the queue address has no name of the Sentinel master: add /<master name>')
  }
  const db = segments.shift() ?? ''
  if (segments.length > 0 || !/^\d{0,4}$/.test(db)) {
    throw new QueueUrlError('the path of the queue address must be a database number')
  }
  if (topology === 'cluster' && Number(db) !== 0) {
    throw new QueueUrlError(
      'a Redis Cluster has database 0 only: use ?prefix= to separate several Herald installations',
    )
  }
  const hosts = authority.slice(at + 1).split(',')
  if (topology === 'single' && hosts.length > 1) {
    throw new QueueUrlError(`several hosts need ${scheme}-sentinel:// or ${scheme}-cluster://`)
  }
  return {
    kind: 'redis',
    topology,
    tls,
    hosts: hosts.map((host) => readHost(host, topology === 'sentinel' ? 26379 : 6379)),
    ...(username && { username }),
    ...(password && { password }),
    db: Number(db),
    prefix: options.get('prefix') || 'herald',
    ...(name && {
      sentinel: {
        name,
        ...pick('username', options.get('sentinel_username')),
        ...pick('password', options.get('sentinel_password')),
      },
    }),
  }
}

function readHost(text: string, defaultPort: number) {
  const [, host, port] = /^(\[[0-9a-f:.]+\]|[^:@/\s[\]]+)(?::(\d+))?$/i.exec(text) ?? []
  if (!host) throw new QueueUrlError('the queue address needs a host, or a list of host:port with commas')
  const number = Number(port ?? defaultPort)
  if (number < 1 || number > 65535) throw new QueueUrlError(`the queue address has an invalid port: ${port}`)
  return { host: host.replace(/^\[|\]$/g, ''), port: number }
}

function readCredentials(text: string): string[] {
  const [username, password] = cut(text, text.indexOf(':'))
  return [decode(username, 'user name'), decode(password, 'password')]
}

function readParameters(query: string, topology: RedisAddress['topology']): URLSearchParams {
  const found = new URLSearchParams(query)
  for (const key of found.keys()) {
    if (!parameters[topology].includes(key)) {
      throw new QueueUrlError(`the queue address has an unknown parameter ${JSON.stringify(key)}`)
    }
  }
  if (!/^[\w.-]*$/.test(found.get('prefix') ?? '')) {
    throw new QueueUrlError(
      'prefix of the queue address may have letters, digits, dots, dashes and underscores',
    )
  }
  return found
}

function cut(text: string, at: number): [before: string, after: string] {
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

function decode(text: string, part: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new QueueUrlError(`the ${part} of the queue address has a broken percent sequence`)
  }
}

function pick<K extends string>(key: K, value: string | null) {
  return value ? ({ [key]: value } as Record<K, string>) : {}
}
