import { startPostgres } from '../src/index.ts'

// A process that a spec can kill: starts a server and prints its URL.
const { url, pid } = await startPostgres({ dir: process.argv[2] ?? '', durable: false })
process.stdout.write(`${JSON.stringify({ url, pid })}\n`)
setInterval(() => {}, 60_000)
