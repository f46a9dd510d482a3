import { migrate } from '../src/store/migrate.ts'

// A process of its own for the spec to run several at once and to kill.
const [url = '', folder] = process.argv.slice(2)
await migrate(url, { ...(folder && { folder }), log: (sentence) => process.stdout.write(`${sentence}\n`) })
process.stdout.write('done\n')
