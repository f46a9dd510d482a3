export {
  type Application,
  createApplication,
  findApplication,
  isApplicationSecret,
  listApplications,
  renewApplicationSecret,
  revokeAdminTokens,
} from './applications.ts'
export { type AuditEntry, recordAudit } from './audit.ts'
export {
  type ConsoleSessionRow,
  closeConsoleSession,
  findConsoleSession,
  openConsoleSession,
} from './console-sessions.ts'
export {
  addMembers,
  createGroup,
  isGroup,
  isMember,
  listGroups,
  listMembers,
  removeGroup,
  removeMembers,
} from './groups.ts'
export { countLogin, forgiveLogin } from './login-failures.ts'
export {
  changePassword,
  createUser,
  findUserById,
  findUserByLogin,
  findUserByName,
  listUsers,
  removeUser,
  revokeUserTokens,
  type User,
  type UserWithPassword,
  userTokenVersion,
} from './users.ts'
