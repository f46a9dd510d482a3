import { isOldRedis, type QueueFacts, type RedisNode } from '@herald/queue/checkup'
import { plural } from '../format.ts'
import type { Finding } from './finding.ts'

export function judgeQueue(facts: QueueFacts): Finding[] {
  return facts.kind === 'redis' ? judgeRedis(facts) : [judgePostgres(facts)]
}

type Redis = Extract<QueueFacts, { kind: 'redis' }>

function judgeRedis({ topology, nodes, whole }: Redis): Finding[] {
  const kind = { single: 'single server', sentinel: 'Sentinel', cluster: 'Cluster' }[topology]
  const versions = [...new Set(nodes.map(({ version }) => version))].join(', ')
  const size = topology === 'cluster' ? ` of ${plural(nodes.length, 'master')}` : ''
  const findings: Finding[] = [
    { area: 'queue', state: 'ok', what: `Redis ${versions} is reachable (${kind}${size})` },
  ]
  if (!whole)
    findings.push({
      area: 'queue',
      state: 'fail',
      what: 'the Cluster does not serve all its slots',
      advice: 'restore the missing masters (redis-cli --cluster check)',
    })
  for (const node of nodes) findings.push(...judgeNode(node))
  return findings
}

function judgeNode({ address, version, role, policy, appendOnly }: RedisNode): Finding[] {
  const findings: Finding[] = []
  const add = (state: Finding['state'], what: string, advice?: string) =>
    findings.push({ area: 'queue', state, what: `${address}: ${what}`, advice })
  if (version && isOldRedis(version)) add('fail', `Redis ${version} is too old`, 'upgrade to 6.2 or newer')
  if (role && role !== 'master')
    add('fail', `it is a ${role} and does not accept writes`, 'set QUEUE_URL to the master')
  if (policy === 'noeviction') add('ok', 'maxmemory-policy is noeviction')
  else if (policy === '') add('warn', 'maxmemory-policy cannot be read', 'make sure that it is noeviction')
  else add('fail', `maxmemory-policy is ${policy}: jobs may be evicted`, 'set maxmemory-policy noeviction')
  if (appendOnly) add('ok', 'appendonly is on')
  else
    add(
      'warn',
      'appendonly is off: a restart loses the queue, which is then rebuilt from the database',
      'set appendonly yes',
    )
  return findings
}

function judgePostgres({ version, schema }: Extract<QueueFacts, { kind: 'postgres' }>): Finding {
  if (schema === 'ready') return { area: 'queue', state: 'ok', what: `the queue is in PostgreSQL ${version}` }
  return {
    area: 'queue',
    state: 'warn',
    what: schema === 'old' ? 'the queue tables are of an older version' : 'the queue tables do not exist yet',
    advice: 'start any program, which creates them',
  }
}
