import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { npm } from './install.mjs'
import { runWithProgress } from './progress.mjs'

const homeOf = (root) => join(root, 'apps', 'console')
const distOf = (root) => join(homeOf(root), 'dist')

// The sources of the console, the packages it imports, and the versions of everything else.
const inputs = [
  'apps/console',
  'packages/client/src',
  'packages/domain/src',
  'packages/channels/src',
  'package-lock.json',
]
// Of the channels, the console contains the cards with their parts, the kinds of reasons and the cutting of texts: a change to an
// adapter needs no build.
const ofChannels = /^packages\/channels\/src\/(([a-z]+\/)?cards?(-[a-z-]+)?|reason-kinds|shared\/texts)\.ts$/
const isInput = (path) => !path.startsWith('packages/channels/') || ofChannels.test(path)
const notInputs = new Set(['node_modules', 'dist', 'test'])

export function isConsoleBuilt(root) {
  const stamp = join(distOf(root), '.stamp')
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === stampOf(root)
}

/** The files whose change needs a build. */
export function stampedFiles(root) {
  return inputs.flatMap((input) => filesIn(root, input)).filter(isInput)
}

function stampOf(root) {
  const hash = createHash('sha256')
  for (const path of stampedFiles(root)) hash.update(`${path}\0`).update(readFileSync(join(root, path)))
  return hash.digest('hex')
}

function filesIn(root, path) {
  const found = statSync(join(root, path), { throwIfNoEntry: false })
  if (found === undefined) return []
  if (found.isFile()) return [path]
  const names = readdirSync(join(root, path)).filter((name) => !notInputs.has(name))
  return names.sort().flatMap((name) => filesIn(root, `${path}/${name}`))
}

/** Builds the web console. Herald works without it: if it is `optional`, a failure is only reported. */
export async function buildConsole(root, lock, { optional }) {
  // Built in another folder and renamed together with its stamp: a killed run leaves the old console, and a running Herald
  // never serves an incomplete one.
  const work = join(root, 'node_modules', '.herald-console')
  const stamp = stampOf(root)
  const { command, args, env } = npm(root)
  rmSync(work, { recursive: true, force: true })
  const built = await runWithProgress(
    'building the web console',
    command,
    [...args, 'run', 'build', '--', '--outDir', relative(homeOf(root), work), '--emptyOutDir'],
    { cwd: homeOf(root), env, onSpawn: lock.addOwner, optional },
  )
  if (!built) return
  writeFileSync(join(work, '.stamp'), stamp)
  rmSync(distOf(root), { recursive: true, force: true })
  renameSync(work, distOf(root))
}
