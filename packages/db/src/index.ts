export { bind, type NewBinding, type Platform, unbind } from './bindings.ts'
export {
  type CertificatePlace,
  type CertificateState,
  certificateAt,
  certificateById,
  certificatesOf,
  closeCertificate,
  type Environment,
  type NewCertificate,
  noteCertificateError,
  removeCertificate,
  reopenCertificate,
  type StoredCertificate,
  saveCertificate,
} from './certificates.ts'
export { type Database, type DatabaseOptions, openDatabase } from './database.ts'
export { isPassing, isUnreachable, type RetryOptions, retrying } from './retrying.ts'
export { createSealer, SealBroken, type Sealer } from './seal.ts'
export { inTransaction } from './transaction.ts'
