import type {
  CertificateCheck,
  CertificateView,
  DeviceView,
  Environment,
  Explanation,
  FailureGroup,
  NewCertificate,
  Page,
  Provider,
  TaskStatistics,
  TaskView,
} from '@herald/client'
import { call } from './call.ts'
import type { Application, Credentials, Overview, Session } from './records.ts'

/** Every API call of the console. `appId` is undefined for all applications, which only the operator may read. */

export const readSession = () => call<Session>('GET', '/console/session')
export const signIn = (body: Credentials) => call<Session>('POST', '/console/session', { body })
export const signOut = () => call<unknown>('DELETE', '/console/session')
export const readOverview = (appId?: string) => call<Overview>('GET', '/console/overview', { appId })

export const listApplications = () => call<Application[]>('GET', '/admin/app/list')
export const createApplication = (body: { name: string; package_name?: string }) =>
  call<{ app_id: string; app_secret: string }>('POST', '/admin/app', { body })

/** `text` is the JSON of the request, in which `ext` is as the user typed it. */
export const notify = (appId: string, text: string) =>
  call<{ task_id: number }>('POST', '/push/notify', { appId, text })
export const explain = (appId: string, text: string) =>
  call<Explanation>('POST', '/push/explain', { appId, text })

export const listTasks = (appId: string, filter: { before?: number; limit?: number; state?: string }) =>
  call<Page<TaskView>>('POST', '/push/task/list', { appId, body: filter })

/** Tasks are listed newest first by id: if the task exists, it is the first one before `taskId + 1`. */
export async function readTask(appId: string, taskId: number): Promise<TaskView | undefined> {
  const { list } = await listTasks(appId, { before: taskId + 1, limit: 1 })
  return list.find((task) => Number(task.task_id) === taskId)
}

export async function readCounters(appId: string, taskId: number): Promise<TaskStatistics | undefined> {
  const body = { list: [taskId] }
  return (await call<TaskStatistics[]>('POST', '/push/task/detail', { appId, body }))[0]
}

export const readFailures = (appId: string, taskId: number) =>
  call<FailureGroup[]>('POST', '/push/task/failures', { appId, body: { task_id: taskId } })

export type TaskAction = 'pause' | 'resume' | 'cancel'
export const controlTask = (appId: string, action: TaskAction, taskId: number) =>
  call<unknown>('POST', `/push/task/${action}`, { appId, body: { task_id: taskId } })

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

/** Looks for a device by its id, then by token, then by alias. */
export async function findDevice(appId: string, text: string): Promise<DeviceView | undefined> {
  for (const key of ['device_guid', 'token', 'alias'] as const) {
    const { list } = await listDevices(appId, { [key]: text, limit: 1 })
    if (list[0]) return list[0]
  }
  return undefined
}

/** Alias and tags of a device with a user are changed on behalf of the user; those of other devices by an import of one line. */
export async function changeAlias(appId: string, device: DeviceView, alias: string): Promise<void> {
  if (device.user_id === null) return importLine(appId, device, { alias })
  const options = { appId, userId: device.user_id }
  if (alias === '')
    await call('DELETE', '/user/push/alias', { ...options, body: { push_token: device.push_token } })
  else await call('POST', '/user/push/alias', { ...options, body: { push_token: device.push_token, alias } })
}

export async function changeTags(appId: string, device: DeviceView, tags: string[]): Promise<void> {
  if (device.user_id === null) return importLine(appId, device, { tags })
  const { push_token, user_id } = device
  const change = (method: 'POST' | 'DELETE', list: string[]) =>
    call(method, '/user/push/tag', { appId, userId: user_id, body: { push_token, tags: list } })
  const removed = device.tags.filter((tag) => !tags.includes(tag))
  const added = tags.filter((tag) => !device.tags.includes(tag))
  if (removed.length > 0) await change('DELETE', removed)
  if (added.length > 0) await change('POST', added)
}

async function importLine(
  appId: string,
  device: Pick<DeviceView, 'device_guid' | 'platform'>,
  change: object,
): Promise<void> {
  const { device_guid, platform } = device
  const text = JSON.stringify({ device_guid, platform: platform ?? 'android', ...change })
  const report = await call<{ failed: number; errors: { error: string }[] }>('POST', '/admin/device/import', {
    appId,
    text: `${text}\n`,
    contentType: 'application/x-ndjson',
  })
  if (report.failed > 0) throw new Error(report.errors[0]?.error)
}

/**
 * Creates a device if it is unknown, and returns its push token. By import, because the application may not allow registration.
 * Refuses a device that belongs to a user: its messages would arrive in this browser.
 */
export async function openTestDevice(appId: string, deviceGuid: string): Promise<string> {
  const find = async () => (await listDevices(appId, { device_guid: deviceGuid, limit: 1 })).list[0]
  const known = await find()
  if (known && known.user_id !== null) throw new Error(`The device ${deviceGuid} belongs to a user.`)
  if (!known) await importLine(appId, { device_guid: deviceGuid, platform: 'android' }, {})
  return (known ?? (await find()))!.push_token
}

export const listCertificates = (appId: string) =>
  call<CertificateView[]>('GET', '/admin/push/certificate/list', { appId })
export const putCertificate = (appId: string, body: NewCertificate) =>
  call<{ expires_at: number | null; callback_url: string | null }>('PUT', '/admin/push/certificate', {
    appId,
    body,
  })

export type CertificateKey = { provider: Provider; environment: Environment; region?: string }
export const checkCertificate = (appId: string, key: CertificateKey) =>
  call<CertificateCheck>('POST', '/admin/push/certificate/check', {
    appId,
    body: key,
  })
export const removeCertificate = (appId: string, key: CertificateKey) =>
  call<unknown>('POST', '/admin/push/certificate/remove', { appId, body: key })
