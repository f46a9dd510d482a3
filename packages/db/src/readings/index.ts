export { subqueriesFor, taskCountersSql, taskStatesSql } from '../ledger/bundled-tasks.ts'
export {
  type AuditPage,
  type AuditPlace,
  type AuditRecord,
  type AuditSearch,
  listAudit,
} from './audit-list.ts'
export { type Backlog, readBacklog, readDatabaseBytes, readSystemStats, type SystemStats } from './backlog.ts'
export { type BalanceSize, countBalanced, findImbalances, type Imbalance } from './balance.ts'
export { readSeries, type SentSeries, type SeriesRange, seriesRanges } from './channel-figures.ts'
export {
  type CertificateHealth,
  certificateHealth,
  examineServer,
  type SealHealth,
  type ServerFacts,
  sealHealth,
} from './checkup.ts'
export { type Overview, queueCauses, readOverview, readSettledTotal } from './console-overview.ts'
export {
  type EventImbalance,
  findEventImbalances,
  findLetterImbalances,
  type LetterImbalance,
} from './event-balance.ts'
export { applicationOfTask } from './task-application.ts'
