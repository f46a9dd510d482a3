import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

// Reading and stripping the sources is a third of a warm start. A cache that cannot be written is only not there.
enableCompileCache(join(import.meta.dirname, '../../../node_modules/.cache/herald-compiled'))
const { runStandalone } = await import('./standalone.ts')
await runStandalone()
