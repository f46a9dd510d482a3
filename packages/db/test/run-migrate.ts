import { migrate } from '../src/store/migrate.ts'

// A separate process, so that the spec can run several at once and kill them.
const [url = '', folder] = process.argv.slice(2)
await migrate(url, { ...(folder && { folder }), log: (sentence) => process.stdout.write(`${sentence}\n`) })
process.stdout.write('done\n')
