export { reach } from './dial.ts'
export { proxyFor, type TlsOptions } from './endpoint.ts'
export { FrameReader } from './frame-reader.ts'
export {
  clientPreface,
  Flag,
  FrameType,
  frameHeaderBytes,
  pingFrame,
  putFrameHeader,
  Setting,
  settingsAck,
  settingsFrame,
  windowUpdateFrame,
} from './frames.ts'
export { HeaderBlocks } from './header-blocks.ts'
export type { MulticastRequest, RequestFailure } from './multicast-request.ts'
export { openPool, type Pool } from './pool.ts'
export type { Reply } from './reply.ts'
export { secureContextOf } from './secure-context.ts'
