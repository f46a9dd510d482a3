export { type Accepted, type Acceptor, AcceptorFull, createAcceptor } from './acceptor.ts'
export { createBundleRoom } from './bundle-room.ts'
export {
  type ApplicationCertificates,
  type CertificateCache,
  callbackUrlOf,
  createCertificateCache,
  type ReadCertificate,
  type Unusable,
} from './certificate-cache.ts'
export { closedCertificates } from './closed-certificates.ts'
export { type AudienceCount, countRoutes, MAX_COUNTED } from './count-routes.ts'
export { type Explanation, explain } from './explain.ts'
export { enqueue, isLittle, jobsOf } from './jobs.ts'
export { planUnwritten } from './plan-unwritten.ts'
export { availability, classOf, payloadOf, type RoutedTask, rulesFor } from './rules.ts'
