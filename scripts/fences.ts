import { join } from 'node:path'
import { findCycles, findTrespasses } from './fences/rules.ts'
import { readSourceFiles } from './fences/source-files.ts'

const files = readSourceFiles(join(import.meta.dirname, '..'))
const complaints = [...findTrespasses(files), ...findCycles(files)]
for (const complaint of complaints) console.error(complaint)
if (files.length === 0) console.error('no source files found')
process.exitCode = complaints.length > 0 || files.length === 0 ? 1 : 0
