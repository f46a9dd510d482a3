import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { settingsDocument } from '@herald/settings'

writeFileSync(join(import.meta.dirname, '../docs/settings.md'), settingsDocument())
