export { type Database, type DatabaseOptions, openDatabase } from './database.ts'
export { isPassing, isUnreachable, type RetryOptions, retrying } from './retrying.ts'
export { createSealer, SealBroken, type Sealer } from './seal.ts'
