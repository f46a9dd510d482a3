import { type Import, resolveRelative, type SourceFile } from './source-files.ts'

const packages = [
  'async',
  'domain',
  'settings',
  'telemetry',
  'http2',
  'embedded',
  'client',
  'db',
  'queue',
  'channels',
  'plan',
  'program',
  'worker',
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
  embedded: ['async'],
  client: [],
  db: ['async', 'domain'],
  queue: ['async', 'domain'],
  channels: ['async', 'domain', 'http2'],
  plan: ['async', 'domain', 'db', 'queue', 'channels'],
  program: ['async', 'db', 'queue', 'plan', 'settings', 'telemetry', 'channels'],
  worker: ['async', 'domain', 'program', 'db', 'queue', 'plan', 'settings', 'telemetry', 'channels'],
  testkit: packages,
}

/** Folders of packages/db, lowest first: a folder may import those before it. */
const dbFolders = ['store', 'ledger', 'devices', 'tenants', 'certificates', 'tasks', 'native', 'readings']

/** Which rooms may import a library of the outside world. */
const owners: [library: RegExp, name: string, rooms: string[]][] = [
  [/^bullmq(\/|$)/, 'bullmq', ['packages/queue', 'packages/testkit']],
  [/^(prisma|@prisma\/.*)$/, 'Prisma', ['packages/db']],
  [/^pg(\/|$)/, 'pg', ['packages/db', 'packages/queue', 'packages/embedded', 'packages/testkit', 'bench']],
]

const environmentReaders = ['packages/settings', 'packages/testkit', 'bench']

const roomOf = (path: string) => (path.startsWith('bench/') ? 'bench' : path.split('/').slice(0, 2).join('/'))
const isSpec = (path: string) => /\/test\//.test(path) || /\.spec\.tsx?$/.test(path)

/** One sentence for every import or read of the environment that the house rules forbid. */
export function findTrespasses(files: SourceFile[]): string[] {
  return files.flatMap((file) => {
    const reasons = file.imports.map((wanted) => objection(file.path, wanted))
    if (file.readsEnvironment && !isSpec(file.path) && !environmentReaders.includes(roomOf(file.path))) {
      reasons.push('reads process.env, which packages/settings alone does')
    }
    return reasons.filter((reason) => reason !== undefined).map((reason) => `${file.path} ${reason}`)
  })
}

function objection(path: string, { specifier, typeOnly }: Import): string | undefined {
  const room = roomOf(path)
  const target = resolveRelative(path, specifier)
  if (target !== undefined) {
    if (roomOf(target) !== room) return `leaves its room by the relative path ${specifier}`
    return vendorObjection(path, target) ?? dbFolderObjection(path, target)
  }
  const owner = owners.find(([library]) => library.test(specifier))
  if (owner && !owner[2].includes(room)) return `imports ${owner[1]}, which only ${owner[2].join(', ')} may`
  if (!specifier.startsWith('@herald/')) return undefined

  // A package may have several entry points, such as `@herald/client/device`.
  const name = specifier.split('/')[1] ?? ''
  if (room === 'bench') return undefined
  if (!packages.includes(name)) {
    return room === 'apps/standalone' ? undefined : `imports the app ${name}, which only apps/standalone may`
  }
  if (isSpec(path)) return undefined
  if (name === 'testkit')
    return room === 'packages/testkit' ? undefined : 'imports testkit, which only specs and bench may'
  const allowed = room.startsWith('apps/') ? product : (mayImport[room.slice('packages/'.length)] ?? [])
  if (!allowed.includes(name))
    return `imports ${name}; ${room} may import ${allowed.join(', ') || 'nothing of ours'}`
  if (room === 'packages/worker' && name === 'channels' && !typeOnly) {
    return 'imports more than types from channels; the runner knows the interface, never a vendor'
  }
  return undefined
}

function vendorObjection(path: string, target: string): string | undefined {
  const vendorOf = (file: string) => /^packages\/channels\/src\/([^/]+)\//.exec(file)?.[1]
  const from = vendorOf(path)
  const to = vendorOf(target)
  if (from === undefined || to === undefined || to === 'shared' || from === to) return undefined
  return `imports the vendor ${to}; a vendor never imports another`
}

function dbFolderObjection(path: string, target: string): string | undefined {
  const folderOf = (file: string) => /^packages\/db\/src\/([^/]+)\//.exec(file)?.[1] ?? ''
  const [from, to] = [dbFolders.indexOf(folderOf(path)), dbFolders.indexOf(folderOf(target))]
  if (from < 0 || to <= from) return undefined
  return `imports the folder ${dbFolders[to]}; ${dbFolders[from]} comes before it`
}

/** Every circle of files that import each other, each named once. */
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
      ? [`packages/${name}/src${entry ?? ''}/index.ts`, `apps/${name}/src/index.ts`]
      : [resolveRelative(file.path, specifier) ?? '']
    return candidates.filter((path) => known.has(path))
  })
}
