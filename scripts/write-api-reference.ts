import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openApiDocument, referencePage } from '@herald/api'

writeFileSync(join(import.meta.dirname, '../docs/api-reference.md'), referencePage(openApiDocument()))
