export { addAnswers, type SentFigures } from './answers.ts'
export {
  type Breaker,
  breakersOf,
  closeBreaker,
  countAnswers,
  openBreaker,
  type Probe,
  postponeBreaker,
  takeProbe,
} from './breaker.ts'
export {
  closeCertificate,
  endCheck,
  forgetFailedCheck,
  forgetRefusal,
  postponeProbe,
  type RecoveryPauses,
  type Refusal,
  recordFailedCheck,
  reopenCertificate,
  takeCheck,
  takeProbes,
} from './certificate-state.ts'
export { certificateUse, noteCheckedCertificate } from './certificate-use.ts'
export {
  type CertificatePlace,
  callbackKeys,
  certificateAt,
  certificateOwner,
  certificatesOf,
  hideCallbackKeys,
  type NewCertificate,
  readCertificate,
  removeCertificate,
  type StoredCertificate,
  saveCertificate,
} from './certificates.ts'
export { tellExpiring } from './expiring.ts'
export { governorOf, returnQuota, takePermits } from './governor.ts'
export { clearHolds, holdsOf, type StoredHold, storeHold } from './holds.ts'
export { type Health, shownHealth } from './shown-health.ts'
export { readSession, taskMemory } from './vendor-sessions.ts'
