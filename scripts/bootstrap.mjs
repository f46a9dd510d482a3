// Entry point of every npm script: updates node_modules, the Prisma client and the web console, then runs the task on the pinned
// Node. Plain JavaScript without dependencies, because it must run on any Node from 18 on.
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildConsole, isConsoleBuilt } from './console-build.mjs'
import { installDependencies, isInstalled } from './install.mjs'
import { withLock } from './lock.mjs'
import { generatePrismaClient, isGenerated } from './prisma-client.mjs'
import { fail } from './progress.mjs'
import { runTask } from './run-task.mjs'
import { taskNames, tasks } from './tasks.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const [name = '', ...args] = process.argv.slice(2)

if (Number.parseInt(process.versions.node, 10) < 18) {
  fail(`Herald needs Node 18 or newer to start; this is Node ${process.versions.node}.`)
}
if (!Object.hasOwn(tasks, name)) fail(`There is no task "${name}". Tasks: ${taskNames.join(', ')}.`)

// `prepare` builds the image and fails without the console; the others work without it.
const needsConsole = ['start', 'test', 'e2e', 'prepare'].includes(name)
const isPrepared = () => isInstalled(root) && isGenerated(root) && (!needsConsole || isConsoleBuilt(root))

if (!isPrepared()) {
  await withLock(root, async (lock) => {
    if (!isInstalled(root)) await installDependencies(root, lock)
    if (!isGenerated(root)) await generatePrismaClient(root, lock)
    if (needsConsole && !isConsoleBuilt(root))
      await buildConsole(root, lock, { optional: name !== 'prepare' })
  })
}
runTask(root, [...tasks[name], ...args])
