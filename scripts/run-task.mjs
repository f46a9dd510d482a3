import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, join } from 'node:path'
import { nodeBinary } from './install.mjs'
import { fail } from './progress.mjs'

const parents = () => [process.ppid, shellParent(process.ppid)].join()
// As it was at the beginning: npm may be gone before the clone is prepared.
const firstParents = parents()

/** Runs the task on the pinned Node, as if it were this process: same terminal, same signals, same exit code. */
export function runTask(root, args) {
  const modules = join(root, 'node_modules')
  const env = {
    ...process.env,
    PATH: [join(modules, '.bin'), process.env.PATH].join(delimiter),
    // Stripping the types of some hundred files is a third of a warm start.
    NODE_COMPILE_CACHE: join(modules, '.cache', 'herald-compiled'),
  }
  const child = spawn(nodeBinary(root), args, { cwd: root, env, stdio: 'inherit' })
  // A Ctrl-C or a closed terminal reaches the whole group, so passing it on would count as the second one and force the end.
  for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  // npm dies of a SIGTERM without passing it on, and of a kill -9 anyway; the task would run on with nobody knowing.
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

/** npm may stand behind a shell, which outlives it. */
function shellParent(pid) {
  try {
    const [, name, rest] = /\((.*)\) (.*)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    return /sh$/.test(name) ? rest.split(' ')[1] : ''
  } catch {
    return ''
  }
}
