import type {
  ApplicationSettings,
  AudienceCount,
  AuditPage,
  AuditSearch,
  CertificateCheck,
  CertificateView,
  ChannelCounters,
  DeviceChange,
  DeviceMessage,
  DevicePath,
  DeviceView,
  Environment,
  Erasure,
  Explanation,
  FailureGroup,
  Identity,
  NewCertificate,
  NewIdentity,
  NewWebhook,
  Page,
  Provider,
  PutDevice,
  Recall,
  SavedWebhook,
  SettingsChange,
  Stats,
  StatsSearch,
  TagSearch,
  TagView,
  TaskRequest,
  TaskSearch,
  TaskView,
  WebhookTest,
  WebhookView,
} from '@herald/client'
import { call, SESSION_PATH } from './call.ts'
import type { Application, Credentials, Overview, SentSeries, Session } from './records.ts'

/** Every API call of the console. `appId` is undefined for all applications, which only the operator may read. */

export const readSession = () => call<Session>('GET', SESSION_PATH)
export const signIn = (body: Credentials) => call<Session>('POST', SESSION_PATH, { body })
export const signOut = () => call<unknown>('DELETE', SESSION_PATH)
export const readOverview = (appId?: string) => call<Overview>('GET', '/console/overview', { appId })
export const readSeries = (appId: string | undefined, range: string) =>
  call<SentSeries>('GET', `/console/series?range=${range}`, { appId })

/** The operator's search for the application of a task. */
export const findTaskApplication = (taskId: number) =>
  call<{ app_id: string | null }>('GET', `/console/task?task_id=${taskId}`)

export const listApplications = () => call<Application[]>('GET', '/admin/app/list')
export const createApplication = (body: { name: string; package_name?: string }) =>
  call<{ app_id: string; app_secret: string }>('POST', '/admin/app', { body })

export const changeApplication = (body: { app_id: string; name: string; package_name: string }) =>
  call<{ app_id: string }>('PUT', '/admin/app', { body })

export const renewSecret = (appId: string, keepOldSeconds: number) =>
  call<{ app_id: string; app_secret: string }>('POST', '/admin/app/secret', {
    body: { app_id: appId, keep_old_seconds: keepOldSeconds },
  })

/** `text` is the JSON of the request, in which `ext` is as the user typed it. */
export const notify = (appId: string, text: string) =>
  call<{ task_id: number; repeated?: true }>('POST', '/push/notify', { appId, text })
export const countAudience = (appId: string, text: string, signal?: AbortSignal) =>
  call<AudienceCount>('POST', '/push/audience/count', { appId, text, signal })
export const explain = (appId: string, text: string) =>
  call<Explanation>('POST', '/push/explain', { appId, text })

export const listTasks = (appId: string, body: TaskSearch) =>
  call<Page<TaskView>>('POST', '/push/task/list', { appId, body })

export async function readTask(appId: string, taskId: number): Promise<TaskView | undefined> {
  return (await listTasks(appId, { task_ids: [taskId] })).list[0]
}

export const readChannels = (appId: string, taskId: number) =>
  call<ChannelCounters[]>('POST', '/push/task/channels', { appId, body: { task_id: taskId } })

/** Message, audience, settings and sender. */
export const readRequest = (appId: string, taskId: number) =>
  call<TaskRequest>('POST', '/push/task/request', { appId, body: { task_id: taskId } })

export const readFailures = (appId: string, taskId: number) =>
  call<FailureGroup[]>('POST', '/push/task/failures', { appId, body: { task_id: taskId } })

/** Selects one device, or all devices of a person. */
export type Person = { device_guid: string } | { alias: string } | { user_id: string }
/** The result of the task on these devices. */
export const readPaths = async (appId: string, taskId: number, person: Person) =>
  (
    await call<{ list: DevicePath[] }>('POST', '/push/task/device', {
      appId,
      body: { task_id: taskId, ...person },
    })
  ).list
export const listMessages = (appId: string, filter: Person & { before?: number; limit?: number }) =>
  call<Page<DeviceMessage>>('POST', '/admin/device/messages', { appId, body: filter })

export const readStats = (appId: string, body: StatsSearch) =>
  call<Stats>('POST', '/push/stats', { appId, body })

export type TaskAction = 'pause' | 'resume' | 'cancel'
export const controlTask = (appId: string, action: TaskAction, taskId: number) =>
  call<unknown>('POST', `/push/task/${action}`, { appId, body: { task_id: taskId } })

export type RecallMessage = { title?: string; body?: string }
/** Without a request id it only tells what each channel can do. */
export const recallTask = (appId: string, taskId: number, replace?: RecallMessage, requestId?: string) =>
  call<Recall>('POST', '/push/task/recall', {
    appId,
    body: {
      task_id: taskId,
      ...(replace && { replace }),
      ...(requestId === undefined ? { dry_run: true } : { request_id: requestId }),
    },
  })

export type DeviceFilter = {
  user_id?: string
  alias?: string
  tag?: string
  token?: string
  device_guid?: string
  after?: number
  limit?: number
}
export const listDevices = (appId: string, filter: DeviceFilter) =>
  call<Page<DeviceView>>('POST', '/admin/device/list', { appId, body: filter })

/** Characters of the longest text that the API takes. */
const longest = { device_guid: 255, token: 4096, alias: 1024 }

export type FoundDevices = { by: 'device_guid' | 'token' | 'alias'; list: DeviceView[]; more: boolean }
/** Looks for a device by its id, then by token, then for the devices of an alias. */
export async function findDevices(
  appId: string,
  text: string,
  limit: number,
): Promise<FoundDevices | undefined> {
  for (const by of ['device_guid', 'token', 'alias'] as const) {
    if ([...text].length > longest[by]) continue
    const { list, next } = await listDevices(appId, { [by]: text, limit })
    if (list.length > 0) return { by, list, more: next !== null }
  }
  return undefined
}

/** The task that used this request id: tells after a lost answer whether the push was accepted. */
export async function findByRequestId(appId: string, requestId: string): Promise<TaskView | null> {
  return (await listTasks(appId, { request_id: requestId })).list[0] ?? null
}

export const listTags = (appId: string, body: TagSearch) =>
  call<Page<TagView, string>>('POST', '/admin/tag/list', { appId, body })

/** Absent fields stay as they are, null clears them. */
export const putDevice = (appId: string, body: DeviceChange) =>
  call<PutDevice>('PUT', '/admin/device', { appId, body })
export const removeDevice = (appId: string, deviceGuid: string) =>
  call<unknown>('POST', '/admin/device/remove', { appId, body: { device_guid: deviceGuid } })
export const erase = (appId: string, body: Erasure) =>
  call<{ devices: number }>('POST', '/admin/erase', { appId, body })

/**
 * Creates a device if it is unknown, and returns its push token. Undefined for a device of somebody else, whose messages would arrive in
 * this browser: it has a user or, unless it `wasOpened` here before, an alias or bindings.
 */
export async function openTestDevice(
  appId: string,
  deviceGuid: string,
  wasOpened: boolean,
): Promise<string | undefined> {
  const known = (await listDevices(appId, { device_guid: deviceGuid, limit: 1 })).list[0]
  if (known && known.user_id !== null) return undefined
  if (known && !wasOpened && (known.alias !== null || known.bindings.length > 0)) return undefined
  if (known) return known.push_token
  return (await putDevice(appId, { device_guid: deviceGuid, platform: 'android' })).push_token
}

export const readSettings = (appId: string) =>
  call<ApplicationSettings>('GET', '/admin/app/settings', { appId })
export const changeSettings = (appId: string, body: SettingsChange) =>
  call<ApplicationSettings>('PUT', '/admin/app/settings', { appId, body })

/** Null: sign-in tokens of the application are not accepted. */
export async function readIdentity(appId: string): Promise<Identity | null> {
  const found = await call<Identity | { issuer: null }>('GET', '/admin/identity', { appId })
  return found.issuer === null ? null : found
}
export const putIdentity = (appId: string, body: NewIdentity) =>
  call<Identity>('PUT', '/admin/identity', { appId, body })
export const removeIdentity = (appId: string) =>
  call<unknown>('POST', '/admin/identity/remove', { appId, body: {} })

/** Channels of simulated vendors that had no credentials get some. */
export const addSimulatedCredentials = (appId: string) =>
  call<{ channels: string[] }>('POST', '/console/simulated-credentials', { appId, body: {} })
export const listCertificates = (appId: string) =>
  call<CertificateView[]>('GET', '/admin/push/certificate/list', { appId })
export const putCertificate = (appId: string, body: NewCertificate) =>
  call<{ saved: boolean; check: CertificateCheck | null }>('PUT', '/admin/push/certificate', { appId, body })

export type CertificateKey = { provider: Provider; environment: Environment; region?: string }
export const checkCertificate = (appId: string, key: CertificateKey) =>
  call<CertificateCheck>('POST', '/admin/push/certificate/check', {
    appId,
    body: key,
  })
export const removeCertificate = (appId: string, key: CertificateKey) =>
  call<unknown>('POST', '/admin/push/certificate/remove', { appId, body: key })

export const listWebhooks = (appId: string) => call<WebhookView[]>('GET', '/admin/webhook/list', { appId })
export const putWebhook = (appId: string, body: NewWebhook) =>
  call<SavedWebhook>('PUT', '/admin/webhook', { appId, body })
export const removeWebhook = (appId: string, id: WebhookView['webhook_id']) =>
  call<unknown>('POST', '/admin/webhook/remove', { appId, body: { webhook_id: id } })
export const testWebhook = (appId: string, id: WebhookView['webhook_id']) =>
  call<WebhookTest>('POST', '/admin/webhook/test', { appId, body: { webhook_id: id } })
/** `from` in Unix seconds. */
export const replayWebhook = (appId: string, id: WebhookView['webhook_id'], from: number) =>
  call<unknown>('POST', '/admin/webhook/replay', { appId, body: { webhook_id: id, from } })

/** Without an application: what concerns none, for the operator only. */
export const listAudit = (appId: string | undefined, body: AuditSearch) =>
  call<AuditPage>('POST', appId === undefined ? '/admin/app/audit' : '/admin/audit/list', { appId, body })
