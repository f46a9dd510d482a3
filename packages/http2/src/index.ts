export { reach } from './dial.ts'
export type { TlsOptions } from './endpoint.ts'
export { FrameReader } from './frame-reader.ts'
export {
  clientPreface,
  ErrorCode,
  errorName,
  Flag,
  FrameType,
  frameHeaderBytes,
  goawayFrame,
  pingFrame,
  putFrameHeader,
  Setting,
  settingsAck,
  settingsFrame,
  windowUpdateFrame,
} from './frames.ts'
export { HeaderBlocks } from './header-blocks.ts'
export type { PoolEvent } from './link-set.ts'
export type {
  Failure,
  FailureKind,
  FailureReason,
  Goaway,
  HeaderMap,
  Multicast,
  RequestBody,
} from './multicast.ts'
export { openPool, type Pool, type PoolOptions } from './pool.ts'
export { Reply } from './reply.ts'
export { InvalidRequest } from './request-shape.ts'
export type { ConnectionStats, PoolStats } from './stats.ts'
