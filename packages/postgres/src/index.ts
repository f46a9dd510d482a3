export {
  CommitInDoubt,
  codeOf,
  type Failure,
  failureOf,
  isConflict,
  isConnectionLost,
  isDataError,
  isInDoubt,
  isTransient,
  isUnreachable,
} from './failures.ts'
export { connectSession, SessionPool, sessionLimits } from './session.ts'
