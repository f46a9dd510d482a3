import childProcess from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'
import { startPostgres } from '../src/index.ts'

const [dir = '', initdb] = process.argv.slice(2)

// Instead of initdb, which may have ended when the spec looks: it adds files to the new folder until it is killed.
if (initdb === 'endless-initdb') {
  const { spawnSync } = childProcess
  const program = 'n=0; while mkdir -p "base/$n"; do n=$((n + 1)); sleep 0.01; done'
  Object.assign(childProcess, {
    spawnSync: (command: string, args: string[], options: object) =>
      command.endsWith('initdb')
        ? spawnSync('sh', ['-c', program], options)
        : spawnSync(command, args, options),
  })
  syncBuiltinESMExports()
}

// A process that a spec can kill: starts a server and prints its URL.
const { url, pid } = await startPostgres({ dir, durable: false })
process.stdout.write(`${JSON.stringify({ url, pid })}\n`)
setInterval(() => {}, 60_000)
