import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

// Reading and stripping the sources takes a third of a warm start. If the cache cannot be written, it is not used.
enableCompileCache(join(import.meta.dirname, '../../../node_modules/.cache/herald-compiled'))
const { runStandalone } = await import('./standalone.ts')
await runStandalone()
