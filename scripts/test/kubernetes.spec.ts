import { execFileSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { dirname, join } from 'node:path'
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

/** Whether a selector finds these labels. */
const selects = (selector: Record<string, string>, labels: Record<string, string>) =>
  Object.entries(selector).every(([name, value]) => labels[name] === value)
const pods = [...ofKind('Deployment'), ...ofKind('Job')].map(({ metadata, spec }) => ({
  name: metadata.name,
  labels: spec.template.metadata.labels as Record<string, string>,
  ports: (spec.template.spec.containers[0].ports ?? []) as { name: string; containerPort: number }[],
}))

describe('deploy/kubernetes', () => {
  it('lists files that exist and parse, and every file of the base', () => {
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

  it('selects pods that exist by labels they have', () => {
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

  it('probes, serves and admits at ports that programs listen on', () => {
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

  it('scales each vendor’s workers by what waits on their channel', () => {
    const scaled = ofKind('ScaledObject')
    expect(scaled.map(({ metadata }) => metadata.name).sort()).toEqual(
      vendorChannels.map((channel) => `worker-${channel}`).sort(),
    )
    for (const { metadata, spec } of scaled) {
      expect(spec.scaleTargetRef.name).toBe(metadata.name)
      const channel = vendorChannels.find((one) => `worker-${one}` === metadata.name)!
      const { query } = spec.triggers[0].metadata
      expect(query).toContain(`channel="${publicName(channel)}"`)
      expect(metricNames).toContain(/herald_\w+/.exec(query)?.[0])
      expect(spec.minReplicaCount).toBeGreaterThan(0)
    }
    // A Deployment with its own number would fight with its autoscaler at every apply.
    const autoscaled = [...scaled, ...ofKind('HorizontalPodAutoscaler')].map(
      ({ spec }) => spec.scaleTargetRef.name,
    )
    for (const { metadata, spec } of ofKind('Deployment'))
      expect([metadata.name, spec.replicas !== undefined]).toEqual([
        metadata.name,
        !autoscaled.includes(metadata.name),
      ])
  })

  it('runs nothing as root, and drains before it is killed', () => {
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

  it('gives settings that programs know, and secrets that they refuse until they are replaced', () => {
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

  it('sends the ingress to services that exist', () => {
    const [ingress] = parseDocuments(`${folder}/overlays/example/ingress.yaml`)
    for (const { backend } of ingress.spec.rules[0].http.paths) {
      const service = ofKind('Service').find(({ metadata }) => metadata.name === backend.service.name)
      expect(service.spec.ports.map(({ name }: { name: string }) => name)).toContain(
        backend.service.port.name,
      )
    }
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
