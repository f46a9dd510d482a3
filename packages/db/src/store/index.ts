export { type Database, openDatabase, poolSizes } from './database.ts'
export {
  CommitInDoubt,
  codeOf,
  isConnectionLost,
  isDataError,
  isInDoubt,
  isTransient,
  isUnreachable,
  retrying,
} from './errors.ts'
export { checkMasterKey, sharedKey } from './instance-keys.ts'
export { type Lead, leadOf } from './lead.ts'
export { MIN_POSTGRES, type MigrationState, migrate, migrationState } from './migrate.ts'
export { MigrationError } from './migrations.ts'
export { ensurePartitions, timeOfTaskId } from './partitions.ts'
export { resealSecrets } from './reseal.ts'
export { createSealer, SealBroken, type Sealer } from './seal.ts'
export type { Runner } from './statement.ts'
export { analyzeGrown } from './statistics.ts'
export { createTextStore, type StoredText } from './text-store.ts'
export { isClearTextNeeded } from './upgrade-window.ts'
