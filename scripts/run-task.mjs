import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, join } from 'node:path'
import { nodeBinary } from './install.mjs'
import { fail } from './progress.mjs'

const parents = () => [process.ppid, shellParent(process.ppid)].join()
// Read at the start, because npm may end while the clone is being prepared.
const firstParents = parents()

/** Runs the task on the pinned Node with the same terminal, signals and exit code as this process. */
export function runTask(root, args) {
  const modules = join(root, 'node_modules')
  const env = {
    ...process.env,
    PATH: [join(modules, '.bin'), process.env.PATH].join(delimiter),
    // Stripping the types of several hundred files takes a third of a warm start.
    NODE_COMPILE_CACHE: join(modules, '.cache', 'herald-compiled'),
  }
  const child = spawn(nodeBinary(root), args, { cwd: root, env, stdio: 'inherit' })
  // Ctrl-C and a closed terminal reach the whole process group. A forwarded copy would count as a second Ctrl-C and force the end.
  for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  // npm does not forward SIGTERM, and cannot forward SIGKILL: without this, the task would outlive it.
  if (env.npm_lifecycle_event) endWithParent(child)
  child.on('error', (error) => fail(`herald: the task did not start: ${error.message}`))
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)))
}

function endWithParent(child) {
  const timer = setInterval(() => {
    if (parents() === firstParents) return
    clearInterval(timer)
    child.kill('SIGTERM')
  }, 500)
}

/** npm may run us through a shell, which outlives it. */
function shellParent(pid) {
  try {
    const [, name, rest] = /\((.*)\) (.*)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    return /sh$/.test(name) ? rest.split(' ')[1] : ''
  } catch {
    return ''
  }
}
