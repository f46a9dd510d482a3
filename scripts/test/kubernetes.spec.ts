import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { poolSizes } from '@herald/db/store'
import { publicName, vendorChannels } from '@herald/domain'
import { readSettings } from '@herald/settings'
import { metricNames } from '@herald/telemetry'
import { describeWith } from '@herald/testkit'
import { describe, expect, it } from '@jest/globals'
import { parseAllDocuments } from 'yaml'
import { type Loose, parseDocuments, parseYaml, programs, root } from './deployed-programs.ts'

const folder = 'deploy/kubernetes'
const base = parseYaml(`${folder}/base/kustomization.yaml`)
const resources = (base.resources as string[]).flatMap((name) => parseDocuments(`${folder}/base/${name}`))
const ofKind = (kind: string, all: Loose[] = resources): Loose[] => all.filter((one) => one.kind === kind)
const shared = parseDocuments(`${folder}/base/program.yaml`)[0].spec.template.spec
const container = shared.containers[0]

/** Whether a selector matches these labels. */
const selects = (selector: Record<string, string>, labels: Record<string, string>) =>
  Object.entries(selector).every(([name, value]) => labels[name] === value)
const pods = [...ofKind('Deployment'), ...ofKind('Job')].map(({ metadata, spec }) => ({
  name: metadata.name,
  labels: spec.template.metadata.labels as Record<string, string>,
  ports: (spec.template.spec.containers[0].ports ?? []) as { name: string; containerPort: number }[],
}))

type Trigger = { metadata: { query: string } }

describe('deploy/kubernetes', () => {
  it('lists existing files, and every file of the base', () => {
    const listed = new Set<string>()
    for (const path of globSync(`${folder}/**/kustomization.yaml`, { cwd: root })) {
      const { resources = [], components = [], patches = [] } = parseYaml(path)
      for (const name of [...resources, ...components, ...patches.flatMap((p: Loose) => p.path ?? [])]) {
        const target = join(dirname(path), name)
        expect([target, existsSync(join(root, target))]).toEqual([target, true])
        listed.add(target)
      }
    }
    for (const path of globSync(`${folder}/**/*.yaml`, { cwd: root })) {
      expect(parseDocuments(path).length).toBeGreaterThan(0)
      if (!path.endsWith('kustomization.yaml')) expect(listed).toContain(path)
    }
  })

  it('deploys every program under its own name', () => {
    const deployments = ofKind('Deployment')
    expect(deployments.map(({ metadata }) => metadata.name).sort()).toEqual(programs)
    for (const { metadata, spec } of deployments) {
      const { name, args } = spec.template.spec.containers[0]
      // The shared part is merged into the container of this name.
      expect(name).toBe(container.name)
      expect(args).toEqual([`apps/${metadata.name}/src/main.ts`])
    }
    for (const { spec } of ofKind('Job'))
      expect(existsSync(join(root, spec.template.spec.containers[0].args[0]))).toBe(true)
  })

  it('selects existing pods', () => {
    for (const { spec } of ofKind('Deployment'))
      expect(selects(spec.selector.matchLabels, spec.template.metadata.labels)).toBe(true)
    const selectors = [
      ...ofKind('Service').map(({ spec }) => spec.selector),
      ...ofKind('PodDisruptionBudget').map(({ spec }) => spec.selector.matchLabels),
      ...ofKind('NetworkPolicy').map(({ spec }) => spec.podSelector.matchLabels),
    ]
    expect(selectors.length).toBeGreaterThan(programs.length)
    for (const selector of selectors) expect(pods.some(({ labels }) => selects(selector, labels))).toBe(true)
    expect(
      ofKind('PodDisruptionBudget')
        .map(({ metadata }) => metadata.name)
        .sort(),
    ).toEqual(programs)
  })

  it('uses ports that programs listen on', () => {
    const { settings } = readSettings({})
    const known: Record<string, number> = {
      http: settings.port,
      native: settings.gatewayPort,
      metrics: settings.metricsPort,
    }
    for (const { ports } of pods)
      for (const { name, containerPort } of ports) expect(containerPort).toBe(known[name])
    for (const { spec } of ofKind('Deployment'))
      expect(spec.template.spec.containers[0].ports).toContainEqual({ name: 'metrics', containerPort: 7110 })
    expect(container.livenessProbe.httpGet).toEqual({ path: '/healthz', port: 'metrics' })
    expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'metrics' })
    for (const { spec } of ofKind('Service'))
      for (const { port, targetPort } of spec.ports) {
        const pod = pods.find(({ labels }) => selects(spec.selector, labels))!
        expect(pod.ports).toContainEqual({ name: targetPort, containerPort: port })
      }
    for (const { spec } of ofKind('NetworkPolicy'))
      for (const { ports } of spec.ingress)
        for (const { port } of ports)
          expect(
            pods.some(
              (pod) =>
                selects(spec.podSelector.matchLabels, pod.labels) &&
                pod.ports.some(({ name }) => name === port),
            ),
          ).toBe(true)
  })

  it('scales each vendor’s workers by the queue of their channel', () => {
    const scaled = ofKind('ScaledObject')
    expect(scaled.map(({ metadata }) => metadata.name).sort()).toEqual(
      vendorChannels.map((channel) => `worker-${channel}`).sort(),
    )
    for (const { metadata, spec } of scaled) {
      expect(spec.scaleTargetRef.name).toBe(metadata.name)
      const channel = vendorChannels.find((one) => `worker-${one}` === metadata.name)!
      const queries: string[] = spec.triggers.map(({ metadata: { query } }: Trigger) => query)
      for (const query of queries) expect(query).toContain(`channel="${publicName(channel)}"`)
      const metrics = queries.map((query) => /herald_\w+/.exec(query)?.[0])
      expect(metrics).toEqual(['herald_queue_recipients', 'herald_queue_age_seconds'])
      expect(metricNames).toEqual(expect.arrayContaining(metrics))
      // The number of single pushes is read up to a limit of two workers; a minute's wait must ask for more.
      expect(60 / Number(spec.triggers[1].metadata.threshold)).toBeGreaterThan(2)
      expect(spec.minReplicaCount).toBeGreaterThan(0)
    }
    // Every apply of a Deployment with replicas would undo the work of its autoscaler.
    const autoscaled = [...scaled, ...ofKind('HorizontalPodAutoscaler')].map(
      ({ spec }) => spec.scaleTargetRef.name,
    )
    for (const { metadata, spec } of ofKind('Deployment'))
      expect([metadata.name, spec.replicas !== undefined]).toEqual([
        metadata.name,
        !autoscaled.includes(metadata.name),
      ])
  })

  it('starts as many programs as the page on sizing counts, and no more connections than it recommends', () => {
    const most = new Map(
      [...ofKind('ScaledObject'), ...ofKind('HorizontalPodAutoscaler')].map(({ spec }) => [
        spec.scaleTargetRef.name,
        spec.maxReplicaCount ?? spec.maxReplicas,
      ]),
    )
    const started = ofKind('Deployment').reduce(
      (sum, { metadata, spec }) => sum + (most.get(metadata.name) ?? spec.replicas),
      0,
    )
    const page = readFileSync(join(root, 'docs/sizing.md'), 'utf8').replace(/\s+/g, ' ')
    const [, programs, connections, recommended] =
      /start up to (\d+) programs, which open up to (\d+) connections: set `max_connections` to ([\d,]+)/.exec(
        page,
      ) ?? []
    expect([Number(programs), Number(connections)]).toEqual([started, started * poolSizes.program])
    expect(Number(recommended?.replaceAll(',', ''))).toBeGreaterThan(Number(connections))
  })

  it('runs nothing as root, and drains before the kill', () => {
    for (const spec of [shared, ofKind('Job')[0].spec.template.spec]) {
      expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 })
      expect(spec.automountServiceAccountToken).toBe(false)
      expect(spec.containers[0].securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
    }
    const grace = Number(container.lifecycle.preStop.exec.command.at(-1)) + 30
    expect(shared.terminationGracePeriodSeconds).toBeGreaterThan(grace)
    const native = ofKind('Deployment').find(({ metadata }) => metadata.name === 'worker-native')
    expect(native.spec.strategy.rollingUpdate).toEqual({ maxUnavailable: 0, maxSurge: 1 })
  })

  it('sets known settings, and placeholder secrets that programs refuse', () => {
    const { data } = ofKind('ConfigMap')[0]
    const overlay = parseDocuments(`${folder}/overlays/example/settings.yaml`)[0].data
    const { stringData } = parseDocuments(`${folder}/overlays/example/secret.yaml`)[0]
    expect(readSettings({ ...data, ...overlay }).warnings).toEqual([])
    for (const name of Object.keys(stringData))
      expect(() => readSettings({ [name]: stringData[name] })).toThrow(name)
    expect(Object.keys(stringData)).toEqual([
      'DATABASE_URL',
      'QUEUE_URL',
      'HERALD_OPERATOR_KEY',
      'HERALD_MASTER_KEY',
    ])
  })

  it('routes the ingress to existing services, but neither exposes /metrics nor logs callback keys', () => {
    const ingresses = parseDocuments(`${folder}/overlays/example/ingress.yaml`)
    const paths: Loose[] = ingresses.flatMap(({ spec }) => spec.rules[0].http.paths)
    for (const { backend } of paths) {
      const service = ofKind('Service').find(({ metadata }) => metadata.name === backend.service.name)
      expect(service.spec.ports.map(({ name }: { name: string }) => name)).toContain(
        backend.service.port.name,
      )
    }
    // The gateway's port responds with 404 to every path except /native.
    expect(paths.find(({ path }) => path === '/metrics')).toMatchObject({
      pathType: 'Exact',
      backend: { service: { name: 'worker-native', port: { name: 'native' } } },
    })
    const [callbacks, ...others] = ingresses.filter(({ spec }) =>
      spec.rules[0].http.paths.some(({ path }: Loose) => path === '/callback'),
    )
    expect(others).toEqual([])
    expect(callbacks.metadata.annotations['nginx.ingress.kubernetes.io/enable-access-log']).toBe('false')
  })

  it('gives each program only the secrets that it needs', () => {
    const secretsOf = (one: Loose) =>
      one.env.flatMap(({ name, valueFrom }: Loose) => (valueFrom ? [name] : [])).sort()
    const [migrate] = ofKind('Job')[0].spec.template.spec.containers
    for (const { envFrom } of [container, migrate])
      expect(envFrom).toEqual([{ configMapRef: { name: 'herald-settings' } }])
    expect(secretsOf(migrate)).toEqual(['DATABASE_URL'])
    expect(secretsOf(container)).toEqual([
      'DATABASE_URL',
      'HERALD_MASTER_KEY',
      'HERALD_OTHER_MASTER_KEYS',
      'HERALD_PROXY',
      'QUEUE_URL',
    ])
    const own = ofKind('Deployment').map(({ metadata, spec }) => [
      metadata.name,
      secretsOf({ env: [], ...spec.template.spec.containers[0] }),
    ])
    for (const [name, secrets] of own)
      expect([name, secrets]).toEqual([
        name,
        name === 'api' ? ['HERALD_OPERATOR_KEY', 'HERALD_TOKEN_KEY'] : [],
      ])
  })

  it('accepts connections only from the ingress controller and Prometheus', () => {
    const sources = ofKind('NetworkPolicy').flatMap(({ spec }) =>
      spec.ingress.map(({ from, ports }: Loose) => [
        ports[0].port,
        from.flatMap(({ namespaceSelector }: Loose) => Object.values(namespaceSelector.matchLabels)),
      ]),
    )
    expect(Object.fromEntries(sources)).toEqual({
      http: ['ingress-nginx'],
      metrics: ['monitoring'],
      native: ['ingress-nginx'],
    })
    // A gateway may be behind another number of proxies than the API.
    const native = ofKind('Deployment').find(({ metadata }) => metadata.name === 'worker-native')
    expect(native.spec.template.spec.containers[0].env).toContainEqual({
      name: 'HERALD_TRUSTED_PROXIES',
      value: '1',
    })
  })

  it('reaches private networks only at the ports of DNS, Postgres and Redis', () => {
    const { egress } = ofKind('NetworkPolicy').find(({ metadata }) => metadata.name === 'herald').spec
    const open = egress.find(({ ports }: Loose) => ports === undefined)
    const except = open.to.flatMap(({ ipBlock }: Loose) => ipBlock.except)
    for (const network of ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', 'fc00::/7'])
      expect(except).toContain(network)
    const limited = egress.filter((rule: Loose) => rule !== open)
    const portsOf = ({ ports }: Loose) => ports.map(({ port }: Loose) => port)
    expect(limited.map(portsOf)).toEqual([
      [53, 53, 5432, 6379],
      [53, 53],
    ])
    // NodeLocal DNSCache; 169.254.169.254 stays closed.
    expect(limited[1].to).toEqual([{ ipBlock: { cidr: '169.254.20.10/32' } }])
  })
})

describeWith('kubectl')('kubectl kustomize', () => {
  it('builds the example, with the shared part in every program', () => {
    const text = execFileSync('kubectl', ['kustomize', join(root, folder, 'overlays/example')], {
      encoding: 'utf8',
    })
    const built = parseAllDocuments(text).map((document) => document.toJS())
    const deployments = ofKind('Deployment', built)
    expect(deployments.map(({ metadata }) => metadata.name).sort()).toEqual(programs)
    for (const { metadata, spec } of deployments) {
      expect(metadata.namespace).toBe('herald')
      const [only, ...more] = spec.template.spec.containers
      expect(more).toEqual([])
      expect(only).toMatchObject({ image: 'herald:0.1.0', args: [`apps/${metadata.name}/src/main.ts`] })
      expect(only.readinessProbe.httpGet.path).toBe('/readyz')
      expect(only.resources.limits.memory).toBeDefined()
    }
    expect(ofKind('ServiceMonitor', built)).toHaveLength(1)
    expect(ofKind('ConfigMap', built)[0].data.HERALD_PUBLIC_URL).toBe('https://push.example.com')
  })
})
