export {
  type CertificatePlace,
  certificateAt,
  certificateById,
  certificatesOf,
  certificatesStamp,
  closeCertificate,
  type NewCertificate,
  noteCertificateError,
  removeCertificate,
  reopenCertificate,
  type StoredCertificate,
  saveCertificate,
} from './certificates.ts'
export { governorOf, returnQuota, takePermits } from './governor.ts'
export { taskMemory, vendorSession } from './vendor-sessions.ts'
