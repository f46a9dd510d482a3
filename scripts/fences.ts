import { join } from 'node:path'
import { findCycles, findViolations } from './fences/rules.ts'
import { readSourceFiles } from './fences/source-files.ts'

const files = readSourceFiles(join(import.meta.dirname, '..'))
const violations = [...findViolations(files), ...findCycles(files)]
for (const violation of violations) console.error(violation)
if (files.length === 0) console.error('no source files found')
process.exitCode = violations.length > 0 || files.length === 0 ? 1 : 0
