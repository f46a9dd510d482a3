export {
  type CertificatePlace,
  certificateAt,
  certificateById,
  certificatesOf,
  certificatesStamp,
  closeCertificate,
  hideCallbackKeys,
  type NewCertificate,
  recordCertificateError,
  removeCertificate,
  reopenCertificate,
  type StoredCertificate,
  saveCertificate,
} from './certificates.ts'
export { governorOf, returnQuota, takePermits } from './governor.ts'
export { taskMemory, vendorSession } from './vendor-sessions.ts'
