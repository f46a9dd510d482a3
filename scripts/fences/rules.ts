import { type Import, resolveRelative, type SourceFile } from './source-files.ts'

const packages = [
  'async',
  'domain',
  'settings',
  'telemetry',
  'http2',
  'outbound',
  'embedded',
  'client',
  'postgres',
  'db',
  'queue',
  'channels',
  'plan',
  'program',
  'worker',
  'simulators',
  'testkit',
]
const product = packages.filter((name) => name !== 'testkit')

/** Which of our packages a package may import; the table of CONTRIBUTING.md. */
const mayImport: Record<string, string[]> = {
  async: [],
  domain: [],
  settings: [],
  telemetry: [],
  http2: ['async'],
  outbound: [],
  embedded: ['async'],
  client: [],
  postgres: [],
  db: ['async', 'domain', 'postgres'],
  queue: ['async', 'domain', 'postgres'],
  channels: ['async', 'domain', 'http2'],
  plan: ['async', 'domain', 'db', 'queue', 'channels'],
  program: ['async', 'db', 'queue', 'plan', 'settings', 'telemetry', 'channels'],
  worker: ['async', 'domain', 'program', 'db', 'queue', 'plan', 'settings', 'telemetry', 'channels'],
  simulators: ['async'],
  testkit: packages,
}

/** Folders of a source folder, lowest first: a folder may import those before it. */
const folderOrder: Record<string, string[]> = {
  'packages/db/src': [
    'store',
    'ledger',
    'devices',
    'tenants',
    'certificates',
    'tasks',
    'native',
    'events',
    'history',
    'erasure',
    'readings',
  ],
  'apps/console/src': ['calculations', 'i18n', 'api', 'session', 'components', 'pages', 'app'],
}

/** The only workspaces that may import these libraries. */
const owners: [library: RegExp, name: string, workspaces: string[]][] = [
  [/^bullmq(\/|$)/, 'bullmq', ['packages/queue', 'packages/testkit']],
  [/^(prisma|@prisma\/.*)$/, 'Prisma', ['packages/db']],
  [
    /^pg(\/|$)/,
    'pg',
    ['packages/postgres', 'packages/db', 'packages/queue', 'packages/embedded', 'packages/testkit', 'bench'],
  ],
]

const environmentReaders = ['packages/settings', 'packages/testkit', 'bench']

const workspaceOf = (path: string) =>
  path.startsWith('bench/') ? 'bench' : path.split('/').slice(0, 2).join('/')
const isSpec = (path: string) => /\/test\//.test(path) || /\.spec\.tsx?$/.test(path)

/** One sentence for every forbidden import or read of the environment. */
export function findViolations(files: SourceFile[]): string[] {
  return files.flatMap((file) => {
    const reasons = file.imports.map((wanted) => violationOf(file.path, wanted))
    if (file.readsEnvironment && !isSpec(file.path) && !environmentReaders.includes(workspaceOf(file.path))) {
      reasons.push('reads process.env, which only packages/settings may')
    }
    return reasons.filter((reason) => reason !== undefined).map((reason) => `${file.path} ${reason}`)
  })
}

function violationOf(path: string, { specifier, typeOnly }: Import): string | undefined {
  const workspace = workspaceOf(path)
  const target = resolveRelative(path, specifier)
  if (target !== undefined) {
    if (workspaceOf(target) !== workspace)
      return `imports ${specifier} of another workspace by a relative path`
    return vendorViolation(path, target) ?? folderViolation(path, target)
  }
  const owner = owners.find(([library]) => library.test(specifier))
  if (owner && !owner[2].includes(workspace))
    return `imports ${owner[1]}, which only ${owner[2].join(', ')} may`
  if (!specifier.startsWith('@herald/')) return undefined

  // A package may have several entry points, such as `@herald/client/device`.
  const name = specifier.split('/')[1] ?? ''
  if (workspace === 'bench') return undefined
  if (!packages.includes(name)) {
    return workspace === 'apps/standalone'
      ? undefined
      : `imports the app ${name}, which only apps/standalone may`
  }
  if (isSpec(path)) return undefined
  if (specifier === cardsEntry)
    return workspace === 'packages/client' && !typeOnly
      ? 'imports values of the cards; the client is published alone and may import only their types'
      : undefined
  if (name === 'testkit')
    return workspace === 'packages/testkit' ? undefined : 'imports testkit, which only specs and bench may'
  if (name === 'simulators' && workspace !== 'apps/standalone' && workspace !== 'packages/testkit')
    return 'imports simulators, which only apps/standalone, specs and bench may'
  const allowed = workspace.startsWith('apps/')
    ? product
    : (mayImport[workspace.slice('packages/'.length)] ?? [])
  if (!allowed.includes(name))
    return `imports ${name}; ${workspace} may import ${allowed.join(', ') || 'nothing of ours'}`
  const vendor = /^apps\/worker-(.+)$/.exec(workspace)?.[1]
  if (vendor && name === 'channels' && !typeOnly && specifier !== `@herald/channels/${vendor}`)
    return `imports ${specifier}; a worker may import only its own vendor`
  if (workspace === 'packages/worker' && name === 'channels' && !typeOnly) {
    return 'imports values from channels; the runner may import only types, because it knows no vendor'
  }
  return undefined
}

/** Cards are data that every package may read, so they must not lead to adapters or to Node. */
const cardsEntry = '@herald/channels/cards'
const isCardFile = (path: string) =>
  /^packages\/channels\/src\/(cards|([^/]+\/)?card(-[a-z]+)*)\.ts$/.test(path)

function vendorViolation(path: string, target: string): string | undefined {
  if (isCardFile(path) && !isCardFile(target)) return 'is a card and may import only cards'
  const vendorOf = (file: string) => /^packages\/channels\/src\/([^/]+)\//.exec(file)?.[1]
  const from = vendorOf(path)
  const to = vendorOf(target)
  if (from === undefined || to === undefined || to === 'shared' || from === to) return undefined
  return `imports the vendor ${to}; a vendor never imports another`
}

function folderViolation(path: string, target: string): string | undefined {
  const parts = path.split('/')
  const order = folderOrder[parts.slice(0, 3).join('/')]
  // Files of the source folder itself may import all folders.
  if (!order || parts.length < 5) return undefined
  const rankOf = (file: string) => order.indexOf(file.split('/')[3] ?? '')
  const [from, to] = [rankOf(path), rankOf(target)]
  if (from < 0) return `is in the folder ${parts[3]}, which folderOrder does not list`
  if (to <= from) return undefined
  return `imports the folder ${order[to]}; ${order[from]} comes before it`
}

/** Every import cycle, reported once. */
export function findCycles(files: SourceFile[]): string[] {
  const known = new Set(files.map((file) => file.path))
  const edges = new Map(files.map((file) => [file.path, targetsOf(file, known)]))
  const state = new Map<string, 'open' | 'done'>()
  const trail: string[] = []
  const cycles: string[] = []
  const walk = (path: string): void => {
    if (state.get(path) === 'done') return
    if (state.get(path) === 'open') {
      cycles.push(`circular import: ${[...trail.slice(trail.indexOf(path)), path].join(' → ')}`)
      return
    }
    state.set(path, 'open')
    trail.push(path)
    for (const target of edges.get(path) ?? []) walk(target)
    trail.pop()
    state.set(path, 'done')
  }
  for (const path of edges.keys()) walk(path)
  return cycles
}

function targetsOf(file: SourceFile, known: Set<string>): string[] {
  return file.imports.flatMap(({ specifier }) => {
    const [, name, entry] = /^@herald\/([^/]+)(\/[^/]+)?$/.exec(specifier) ?? []
    const candidates = name
      ? [
          `packages/${name}/src${entry ?? ''}/index.ts`,
          `packages/${name}/src${entry ?? '/index'}.ts`,
          `apps/${name}/src/index.ts`,
        ]
      : [resolveRelative(file.path, specifier) ?? '']
    return candidates.filter((path) => known.has(path))
  })
}
