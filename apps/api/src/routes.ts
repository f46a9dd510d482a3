import { putSettings, readSettings } from './handlers/application-settings.ts'
import { addApplication, applicationList, renewSecret } from './handlers/applications.ts'
import { checkCertificate } from './handlers/certificate-check.ts'
import { certificateList } from './handlers/certificate-list.ts'
import { dropCertificate, putCertificate, readCertificate } from './handlers/certificates.ts'
import { importDeviceStream } from './handlers/device-import.ts'
import { deviceList } from './handlers/device-list.ts'
import {
  acknowledge,
  bindToken,
  ownDevices,
  registerPush,
  removeOwnDevice,
  replaceToken,
  setDeviceBadge,
  unbindToken,
} from './handlers/devices.ts'
import { addGroup, groupList, groupRemove, memberAdd, memberList, memberRemove } from './handlers/groups.ts'
import { explainPush, notify } from './handlers/notify.ts'
import {
  addDeviceTags,
  clearDeviceAlias,
  readTags,
  removeAllTags,
  removeDeviceTags,
  setDeviceAlias,
} from './handlers/tags.ts'
import { taskCancel, taskDetail, taskFailureList, taskList, taskPause, taskResume } from './handlers/tasks.ts'
import { revokeTokens, tokenById, tokenByLogin, tokenByName, tokenForAdmin } from './handlers/tokens.ts'
import { addUser, userList, userPassword, userRemove } from './handlers/users.ts'
import type { Route } from './route.ts'

/** All calls of the API. Routing, access checks and the OpenAPI document are derived from this table. */
export const routes: readonly Route[] = [
  tokenById,
  tokenByLogin,
  tokenByName,
  tokenForAdmin,
  revokeTokens,
  readCertificate,
  notify,
  taskDetail,
  taskList,
  taskPause,
  taskResume,
  taskCancel,
  taskFailureList,
  explainPush,
  registerPush,
  bindToken,
  unbindToken,
  readTags,
  addDeviceTags,
  removeDeviceTags,
  removeAllTags,
  setDeviceAlias,
  clearDeviceAlias,
  setDeviceBadge,
  acknowledge,
  ownDevices,
  removeOwnDevice,
  addUser,
  userList,
  userPassword,
  addGroup,
  groupList,
  memberAdd,
  memberList,
  memberRemove,
  groupRemove,
  userRemove,
  putCertificate,
  certificateList,
  checkCertificate,
  dropCertificate,
  importDeviceStream,
  deviceList,
  replaceToken,
  putSettings,
  readSettings,
  addApplication,
  renewSecret,
  applicationList,
]
