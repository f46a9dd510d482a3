export { type Accepted, type Acceptor, AcceptorFull, createAcceptor } from './acceptor.ts'
export {
  type ApplicationCertificates,
  type CertificateBook,
  callbackUrlOf,
  createCertificateBook,
  type ReadCertificate,
} from './certificate-book.ts'
export { type Explanation, explain } from './explain.ts'
export { enqueue, jobsOf } from './jobs.ts'
export { classOf, payloadOf, type RoutedTask, rulesFor } from './rules.ts'
export { planUnwritten } from './unwritten.ts'
