export {
  type ApplicationSettings,
  applicationSettings,
  changeApplicationSettings,
  defaultApplicationSettings,
  presetRegister,
} from './application-settings.ts'
export {
  type Application,
  checkApplicationSecret,
  createApplication,
  findApplication,
  listApplications,
  noteEventsRead,
  renameApplication,
  renewApplicationSecret,
  revokeAdminTokens,
} from './applications.ts'
export { type Changes, changesOf } from './changes.ts'
export {
  type ConsoleSessionRow,
  closeConsoleSession,
  findConsoleSession,
  openConsoleSession,
} from './console-sessions.ts'
export { recordFailedSignIn } from './failed-sign-ins.ts'
export {
  changeMembers,
  createGroup,
  isGroup,
  isMember,
  listGroups,
  listMembers,
  removeGroup,
} from './groups.ts'
export {
  claimKeyRead,
  endKeyRead,
  findIdentity,
  type Identity,
  type IdentitySettings,
  removeIdentity,
  type StoredKey,
  saveIdentity,
} from './identity.ts'
export { countLoginAttempt, loginLimit, loginLock, uncountLoginAttempt } from './login-failures.ts'
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
  userNamed,
  userTokenVersion,
} from './users.ts'
