import { bindActivityToken, unbindActivityToken } from './handlers/activities.ts'
import { putSettings, readSettings } from './handlers/application-settings.ts'
import { addApplication, applicationList, changeApplication, renewSecret } from './handlers/applications.ts'
import { audienceCount } from './handlers/audience-count.ts'
import { auditList, installationAudit } from './handlers/audit-list.ts'
import { checkCertificate } from './handlers/certificate-check.ts'
import { certificateList } from './handlers/certificate-list.ts'
import { dropCertificate, putCertificate, readCertificate } from './handlers/certificates.ts'
import { importDeviceStream } from './handlers/device-import.ts'
import { deviceList } from './handlers/device-list.ts'
import { putDevice, putDevices, removeAnyDevice } from './handlers/device-writes.ts'
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
import { erasePerson } from './handlers/erase.ts'
import { addGroup, groupList, groupRemove, memberAdd, memberList, memberRemove } from './handlers/groups.ts'
import { deviceMessageList, taskDevice, taskExport } from './handlers/history.ts'
import { dropIdentity, putIdentity, readIdentity } from './handlers/identity.ts'
import { explainPush, notify } from './handlers/notify.ts'
import { notifyBatch } from './handlers/notify-batch.ts'
import { taskRecall } from './handlers/recall.ts'
import { pushStats } from './handlers/stats.ts'
import { tagList, tagMembers } from './handlers/tag-members.ts'
import {
  addDeviceTags,
  clearDeviceAlias,
  readTags,
  removeAllTags,
  removeDeviceTags,
  setDeviceAlias,
} from './handlers/tags.ts'
import {
  taskCancel,
  taskChannelList,
  taskDetail,
  taskFailureList,
  taskList,
  taskPause,
  taskRequestRead,
  taskResume,
} from './handlers/tasks.ts'
import {
  exchangeToken,
  revokeTokens,
  tokenById,
  tokenByLogin,
  tokenByName,
  tokenForAdmin,
} from './handlers/tokens.ts'
import { addUser, userList, userPassword, userRemove } from './handlers/users.ts'
import {
  eventList,
  putWebhook,
  webhookList,
  webhookRemove,
  webhookReplay,
  webhookTest,
} from './handlers/webhooks.ts'
import type { Route } from './route.ts'

const table: readonly Route[] = [
  tokenById,
  tokenByLogin,
  tokenByName,
  tokenForAdmin,
  revokeTokens,
  readCertificate,
  notify,
  notifyBatch,
  taskDetail,
  taskList,
  taskChannelList,
  taskRequestRead,
  taskPause,
  taskResume,
  taskCancel,
  taskRecall,
  taskFailureList,
  taskDevice,
  taskExport,
  pushStats,
  explainPush,
  audienceCount,
  registerPush,
  bindToken,
  unbindToken,
  bindActivityToken,
  unbindActivityToken,
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
  putDevice,
  putDevices,
  importDeviceStream,
  deviceList,
  deviceMessageList,
  tagMembers,
  tagList,
  removeAnyDevice,
  replaceToken,
  erasePerson,
  putSettings,
  readSettings,
  auditList,
  putIdentity,
  readIdentity,
  // After the settings that it needs, because the examples run in this order.
  exchangeToken,
  dropIdentity,
  putWebhook,
  webhookList,
  webhookTest,
  webhookReplay,
  webhookRemove,
  eventList,
  addApplication,
  changeApplication,
  renewSecret,
  applicationList,
  installationAudit,
]

/** All calls of the API. Routing, access checks and the OpenAPI document are derived from this table. */
export const routes: readonly Route[] = table.flatMap((route) =>
  route.method === 'delete' ? [route, removeTwin(route)] : [route],
)

/** The same call as a POST: some proxies and HTTP clients drop the body of a DELETE. */
function removeTwin(route: Route): Route {
  const twin = `The same as DELETE ${route.path}, for clients and proxies that send no body with DELETE.`
  return {
    ...route,
    method: 'post',
    path: `${route.path}/remove`,
    description: route.description ? `${route.description} ${twin}` : twin,
  }
}
