import { readEnvelope } from './envelope.ts'
import { fromExactJson, type Int64, toExactJson } from './exact-json.ts'
import { HeraldError } from './herald-error.ts'
import type { Audience, Message, Notification, Setting } from './notification.ts'
import type {
  ActivityName,
  AdminTokenRecord,
  ApplicationSettings,
  AudienceCount,
  AuditPage,
  AuditSearch,
  CertificateCheck,
  CertificateRecord,
  CertificateView,
  ChannelCounters,
  DeviceChange,
  DeviceMessage,
  DevicePath,
  DeviceSelector,
  DeviceView,
  Environment,
  Erasure,
  EventEntry,
  Explanation,
  ExportEnd,
  ExportLine,
  FailureGroup,
  GroupView,
  Identity,
  ImportedDevice,
  ImportReport,
  NewBinding,
  NewCertificate,
  NewIdentity,
  NewWebhook,
  NotifyResult,
  Page,
  PageOptions,
  Platform,
  PutDevice,
  PutDeviceResult,
  Recall,
  SavedWebhook,
  SettingsChange,
  Stats,
  StatsSearch,
  TagChange,
  TagChangeReport,
  TagSearch,
  TagView,
  TaskRequest,
  TaskSearch,
  TaskStatistics,
  TaskView,
  TokenRecord,
  UserView,
  WebhookTest,
  WebhookView,
} from './records.ts'
import type { Provider } from './vendors.ts'

export type HeraldServerOptions = {
  baseUrl: string
  appId: string
  /** Either the secret, used to fetch an admin token when needed, or a token. */
  appSecret?: string
  token?: string
  /** Timeout of a call (default 30 s); of an export only until its response begins. Imports have none. */
  timeoutMs?: number
  /**
   * How often `notify` is repeated after a network failure, 429 or 5xx (default 0). Only pushes with a `request_id` are repeated:
   * without one, a repetition could push twice.
   */
  retries?: number
  fetch?: typeof globalThis.fetch
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'
type ActAs = { user_id?: string; group_id?: string }
type Credential = { token?: string; pending?: Promise<string> }

const REVOKED = 40102

/** Calls of an application's back end. Every call resolves with `data` of the response or rejects with a HeraldError. */
export class HeraldServer {
  readonly #options: HeraldServerOptions
  readonly #actAs: ActAs
  readonly #credential: Credential

  constructor(
    options: HeraldServerOptions,
    actAs: ActAs = {},
    credential: Credential = { token: options.token },
  ) {
    this.#options = { ...options, baseUrl: options.baseUrl.replace(/\/+$/, '') }
    this.#actAs = actAs
    this.#credential = credential
  }

  /** The same server, acting as one user with the permissions of that user. */
  asUser(userId: Int64): HeraldServer {
    return new HeraldServer(this.#options, { user_id: String(userId) }, this.#credential)
  }

  /** The same server, limited to the members of one group. */
  asGroup(groupId: Int64): HeraldServer {
    return new HeraldServer(this.#options, { group_id: String(groupId) }, this.#credential)
  }

  loginById(userId: Int64, password: string, deviceGuid?: string): Promise<TokenRecord> {
    return this.#withoutToken('/token/id', { user_id: userId, password, device_guid: deviceGuid })
  }

  loginByName(name: string, password: string, deviceGuid?: string): Promise<TokenRecord> {
    return this.#withoutToken('/token/user', { name, password, device_guid: deviceGuid })
  }

  /** By mobile number, email or username. */
  login(loginName: string, password: string, deviceGuid?: string): Promise<TokenRecord> {
    return this.#withoutToken('/token/login', { login_name: loginName, password, device_guid: deviceGuid })
  }

  loginAdmin(appSecret: string): Promise<AdminTokenRecord> {
    return this.#withoutToken('/token/admin', { app_secret: appSecret })
  }

  /** Exchanges a sign-in token of the application itself, see `putIdentity`. The user is created at the first exchange. */
  exchangeToken(idToken: string, deviceGuid?: string): Promise<TokenRecord> {
    return this.#withoutToken('/token/exchange', { id_token: idToken, device_guid: deviceGuid })
  }

  async revokeTokens(): Promise<void> {
    await this.call('POST', '/token/revoke', {})
  }

  /** `repeated`: the request_id was used before, nothing was pushed. */
  notify(notification: Notification): Promise<{ task_id: Int64; repeated?: true }> {
    return this.#repeatable('/push/notify', notification, [notification])
  }

  /**
   * Up to 1000 pushes, each with its own audience and text. Results are in order; an entry that failed has `code` and `message`, and
   * the others are accepted. The call is repeated like `notify` if every entry has a `request_id`.
   */
  async notifyBatch(notifications: Notification[]): Promise<NotifyResult[]> {
    const { list } = await this.#repeatable<{ list: NotifyResult[] }>(
      '/push/notify/batch',
      { list: notifications },
      notifications,
    )
    return list
  }

  async #repeatable<T>(path: string, body: unknown, notifications: Notification[]): Promise<T> {
    const retries = notifications.every(isDeduplicated) ? (this.#options.retries ?? 0) : 0
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.call('POST', path, body)
      } catch (error) {
        if (attempt >= retries || !isTransient(error)) throw error
        await pause(error, attempt)
      }
    }
  }

  /** Counts the devices of an audience by the channel that each would get now; sends nothing. */
  countAudience(push: { audience: Audience; setting?: Setting; message?: Message }): Promise<AudienceCount> {
    return this.call('POST', '/push/audience/count', push)
  }

  explain(notification: { message: Message; setting?: Setting }, pushToken: string): Promise<Explanation> {
    return this.call('POST', '/push/explain', { ...notification, push_token: pushToken })
  }

  taskDetail(taskIds: Int64[]): Promise<TaskStatistics[]> {
    return this.call('POST', '/push/task/detail', { list: taskIds })
  }

  taskList(options: TaskSearch = {}): Promise<Page<TaskView>> {
    return this.call('POST', '/push/task/list', options)
  }

  /** The result of a push on a device, or on the devices of a person. */
  async taskDevice(taskId: Int64, who: DeviceSelector): Promise<DevicePath[]> {
    const { list } = await this.call<{ list: DevicePath[] }>('POST', '/push/task/device', {
      task_id: taskId,
      ...who,
    })
    return list
  }

  /** The messages of a device or person, newest first. A page may have fewer entries than `limit`; `next` is null at the end. */
  deviceMessages(
    who: DeviceSelector,
    options: { limit?: number; before?: Int64 } = {},
  ): Promise<Page<DeviceMessage>> {
    return this.call('POST', '/admin/device/messages', { ...who, ...options })
  }

  /** Sums of the counters by day or hour. */
  stats(search: StatsSearch): Promise<Stats> {
    return this.call('POST', '/push/stats', search)
  }

  /** The result of a task for every device, line by line in constant memory. Returns the sums; throws if the stream was cut off. */
  async *exportTask(taskId: Int64): AsyncGenerator<ExportLine, ExportEnd> {
    const decoder = new TextDecoder()
    let rest = ''
    let end: ExportEnd | undefined
    for await (const chunk of this.exportChunks(taskId)) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = lines.pop()!
      for (const line of lines) {
        const record = fromExactJson(line) as ExportLine | ExportEnd
        if ('sums' in record) end = record
        else yield record
      }
    }
    if (!end) throw new Error('The export was cut off: its last line is missing.')
    return end
  }

  /** The same as NDJSON; a chunk may end anywhere. Only a stream whose last line has `sums` is complete. */
  async *exportChunks(taskId: Int64): AsyncGenerator<Uint8Array, void> {
    const response = await this.#retried(async (token) => {
      const limit = new AbortController()
      const timer = setTimeout(
        () => limit.abort(new DOMException('The export did not begin in time.', 'TimeoutError')),
        this.#options.timeoutMs ?? 30_000,
      )
      try {
        const path = `/push/task/export?task_id=${taskId}`
        const response = await this.#fetch('GET', path, { signal: limit.signal }, token)
        if (!response.ok) await readEnvelope(response)
        return response
      } finally {
        clearTimeout(timer)
      }
    })
    const reader = response.body!.getReader()
    try {
      for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
    } finally {
      await reader.cancel().catch(() => {})
    }
  }

  /** One task, in the format of `taskList`; undefined if it does not exist. */
  async task(taskId: Int64): Promise<TaskView | undefined> {
    const { list } = await this.taskList({ task_ids: [taskId] })
    return list.find(({ task_id }) => BigInt(task_id) === BigInt(taskId))
  }

  async cancelTask(taskId: Int64): Promise<void> {
    await this.call('POST', '/push/task/cancel', { task_id: taskId })
  }

  /** Takes a push back or, with `replace`, puts another message in its place. With `dry_run` it only tells what each channel can do. */
  recallTask(
    taskId: Int64,
    options: { replace?: Message; request_id?: string; dry_run?: boolean } = {},
  ): Promise<Recall> {
    return this.call('POST', '/push/task/recall', { task_id: taskId, ...options })
  }

  async pauseTask(taskId: Int64): Promise<void> {
    await this.call('POST', '/push/task/pause', { task_id: taskId })
  }

  async resumeTask(taskId: Int64): Promise<void> {
    await this.call('POST', '/push/task/resume', { task_id: taskId })
  }

  /** The counters of a task by channel. A device that moved to another channel is a target of both. */
  taskChannels(taskId: Int64): Promise<ChannelCounters[]> {
    return this.call('POST', '/push/task/channels', { task_id: taskId })
  }

  /** Message, audience, settings and sender. */
  taskRequest(taskId: Int64): Promise<TaskRequest> {
    return this.call('POST', '/push/task/request', { task_id: taskId })
  }

  taskFailures(taskId: Int64): Promise<FailureGroup[]> {
    return this.call('POST', '/push/task/failures', { task_id: taskId })
  }

  /** `region`: for vendors with regions; without it the only record of the environment, or that of the usual region. */
  certificate(provider: Provider, environment: Environment = 1, region?: string): Promise<CertificateRecord> {
    const inRegion = region === undefined ? '' : `&region=${encodeURIComponent(region)}`
    return this.call('GET', `/push/certificate?provider=${provider}&environment=${environment}${inRegion}`)
  }

  putCertificate(certificate: NewCertificate): Promise<{
    provider: Provider
    environment: Environment
    region: string | null
    expires_at: number | null
    callback_url: string | null
    warnings: string[]
    /** False: the vendor did not accept the credentials, and nothing was changed. */
    saved: boolean
    /** What the vendor said; null if it was not asked. */
    check: CertificateCheck | null
  }> {
    return this.call('PUT', '/admin/push/certificate', certificate)
  }

  certificates(): Promise<CertificateView[]> {
    return this.call('GET', '/admin/push/certificate/list')
  }

  checkCertificate(
    provider: Provider,
    environment: Environment = 1,
    region?: string,
  ): Promise<CertificateCheck> {
    return this.call('POST', '/admin/push/certificate/check', { provider, environment, region })
  }

  async removeCertificate(provider: Provider, environment: Environment = 1, region?: string): Promise<void> {
    await this.call('POST', '/admin/push/certificate/remove', { provider, environment, region })
  }

  createUser(user: {
    username: string
    password: string
    mobile?: string
    email?: string
  }): Promise<{ user_id: Int64 }> {
    return this.call('POST', '/admin/user', user)
  }

  users(options: PageOptions & { username?: string } = {}): Promise<Page<UserView>> {
    return this.call('POST', '/admin/user/list', options)
  }

  async removeUser(userId: Int64): Promise<void> {
    await this.call('POST', '/admin/user/remove', { user_id: userId })
  }

  async changePassword(userId: Int64, password: string): Promise<void> {
    await this.call('POST', '/admin/user/password', { user_id: userId, password })
  }

  createGroup(name: string): Promise<{ group_id: Int64 }> {
    return this.call('POST', '/admin/group', { name })
  }

  groups(options: PageOptions = {}): Promise<Page<GroupView>> {
    return this.call('POST', '/admin/group/list', options)
  }

  async removeGroup(groupId: Int64): Promise<void> {
    await this.call('POST', '/admin/group/remove', { group_id: groupId })
  }

  addMembers(groupId: Int64, userIds: Int64[]): Promise<{ added: number }> {
    return this.call('POST', '/admin/group/member/add', { group_id: groupId, user_ids: userIds })
  }

  removeMembers(groupId: Int64, userIds: Int64[]): Promise<{ removed: number }> {
    return this.call('POST', '/admin/group/member/remove', { group_id: groupId, user_ids: userIds })
  }

  members(groupId: Int64, options: PageOptions = {}): Promise<Page<UserView>> {
    return this.call('POST', '/admin/group/member/list', { group_id: groupId, ...options })
  }

  devices(
    options: PageOptions & {
      user_id?: Int64
      alias?: string
      tag?: string
      /** A vendor token or a push token. */
      token?: string
      device_guid?: string
    } = {},
  ): Promise<Page<DeviceView>> {
    return this.call('POST', '/admin/device/list', options)
  }

  /** A device without a user; the application must allow it. A known device is registered again with its `pushToken` only. */
  async registerDevice(deviceGuid: string, platform?: Platform, pushToken?: string): Promise<string> {
    const { push_token } = await this.#withoutToken<{ push_token: string }>('/push/register', {
      device_guid: deviceGuid,
      platform,
      push_token: pushToken,
    })
    return push_token
  }

  /** For apps: binds a vendor token. Needs no other credential than the push token. */
  async bindToken(pushToken: string, binding: NewBinding & { platform?: Platform }): Promise<void> {
    await this.#withoutToken('/user/token/bind', { push_token: pushToken, ...binding })
  }

  async unbindToken(pushToken: string, provider: NewBinding['provider']): Promise<void> {
    await this.#withoutToken('/user/token/unbind', { push_token: pushToken, provider })
  }

  /**
   * For apps: binds the token of a Live Activity, or with `attributes_type` a push-to-start token. Needs no other credential than the
   * push token.
   */
  async bindActivity(pushToken: string, activity: ActivityName, token: string): Promise<void> {
    await this.#withoutToken('/user/activity', { push_token: pushToken, ...activity, token })
  }

  /** For apps: an activity that ended without a push. Returns whether its token was bound. */
  async unbindActivity(pushToken: string, activity: ActivityName): Promise<boolean> {
    const { removed } = await this.#withoutToken<{ removed: boolean }>('/user/activity/remove', {
      push_token: pushToken,
      ...activity,
    })
    return removed
  }

  /** For apps: the badge that the user sees, for example 0 when the app is opened. A push with `+1` adds to it. */
  async setBadge(pushToken: string, badge: number): Promise<void> {
    await this.#withoutToken('/user/push/badge', { push_token: pushToken, badge })
  }

  /** For apps: what the device received or the user opened, at most 500 entries. */
  async sendReceipts(
    pushToken: string,
    list: { task_id: Int64; event: 'received' | 'clicked' }[],
  ): Promise<void> {
    await this.#withoutToken('/push/receipt', { push_token: pushToken, list })
  }

  /** The old push token stops working at once. Returns the new one. */
  async replacePushToken(deviceGuid: string): Promise<string> {
    const { push_token } = await this.call<{ push_token: string }>('POST', '/admin/device/token', {
      device_guid: deviceGuid,
    })
    return push_token
  }

  /** Creates a device or changes the given fields. Returns its push token. */
  putDevice(device: DeviceChange): Promise<PutDevice> {
    return this.call('PUT', '/admin/device', device)
  }

  /** At most 1000 devices, one result each, in order. Valid entries are kept when others are refused. */
  async putDevices(devices: DeviceChange[]): Promise<PutDeviceResult[]> {
    const { list } = await this.call<{ list: PutDeviceResult[] }>('POST', '/admin/device/batch', {
      list: devices,
    })
    return list
  }

  /** Removes a device with its bindings and ends its open connection. */
  async removeDevice(device: { device_guid: string } | { push_token: string }): Promise<void> {
    await this.call('POST', '/admin/device/remove', device)
  }

  /** Adds a tag to devices and removes it from others, at most 1000 entries each. */
  changeTag(tag: string, change: TagChange): Promise<TagChangeReport> {
    return this.call('POST', '/admin/tag/member', { tag, ...change })
  }

  /** The tags of the application with the number of their devices. */
  tags(options: TagSearch = {}): Promise<Page<TagView, string>> {
    return this.call('POST', '/admin/tag/list', options)
  }

  /** Erases a person or device and all that names it. Cannot be undone; repeating it is safe. */
  erase(erasure: Erasure): Promise<{ devices: number }> {
    return this.call('POST', '/admin/erase', erasure)
  }

  /** How the application's own sign-in tokens are checked; null: they are not accepted. */
  async identity(): Promise<Identity | null> {
    const found = await this.call<Identity | { issuer: null }>('GET', '/admin/identity')
    return found.issuer === null ? null : found
  }

  putIdentity(identity: NewIdentity): Promise<Identity> {
    return this.call('PUT', '/admin/identity', identity)
  }

  async removeIdentity(): Promise<void> {
    await this.call('POST', '/admin/identity/remove', {})
  }

  /** Who did what, newest first. A page may have fewer entries than `limit`; `next` is null at the end. */
  auditList(search: AuditSearch = {}): Promise<AuditPage> {
    return this.call('POST', '/admin/audit/list', search)
  }

  /** Adds or changes a webhook. The secret is returned only for a new one and with `rotate_secret`. */
  putWebhook(webhook: NewWebhook): Promise<SavedWebhook> {
    return this.call('PUT', '/admin/webhook', webhook)
  }

  /** With their state, backlog and last answer. */
  webhooks(): Promise<WebhookView[]> {
    return this.call('GET', '/admin/webhook/list')
  }

  /** Sends an entry of the type `webhook.test` now. A success resumes a suspended webhook. */
  testWebhook(webhookId: Int64): Promise<WebhookTest> {
    return this.call('POST', '/admin/webhook/test', { webhook_id: webhookId })
  }

  /** Sends events once more. `from` is a Unix time in seconds or the id of an entry. */
  async replayWebhook(webhookId: Int64, from: number | string): Promise<void> {
    await this.call('POST', '/admin/webhook/replay', { webhook_id: webhookId, from })
  }

  async removeWebhook(webhookId: Int64): Promise<void> {
    await this.call('POST', '/admin/webhook/remove', { webhook_id: webhookId })
  }

  /** The stream of events, oldest first. Pass `next` as `after` of the next call, also after an empty list. */
  events(options: PageOptions<string> = {}): Promise<Page<EventEntry, string>> {
    return this.call('POST', '/admin/event/list', options)
  }

  settings(): Promise<ApplicationSettings> {
    return this.call('GET', '/admin/app/settings')
  }

  /** Absent settings stay as they are, null restores the default. */
  changeSettings(change: SettingsChange): Promise<ApplicationSettings> {
    return this.call('PUT', '/admin/app/settings', change)
  }

  /** Streams devices in constant memory. */
  importDevices(devices: AsyncIterable<ImportedDevice> | Iterable<ImportedDevice>): Promise<ImportReport> {
    return this.importLines(lines(devices))
  }

  /** Streams NDJSON (one JSON object per line) in constant memory; a chunk may end anywhere. */
  async importLines(chunks: AsyncGenerator<Uint8Array>): Promise<ImportReport> {
    const body = new ReadableStream({
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await chunks.return(undefined)
      },
    })
    const init = {
      body,
      duplex: 'half',
      headers: { 'content-type': 'application/x-ndjson' },
      // Without these two, Node's fetch keeps the whole body in memory to repeat it after a redirect.
      redirect: 'error',
      window: null,
    }
    return this.#authorised('POST', '/admin/device/import', init as RequestInit) as Promise<ImportReport>
  }

  /** Calls any endpoint by its path, for endpoints without a method here. */
  async call<Data>(method: Method, path: string, body?: unknown): Promise<Data> {
    const init: RequestInit = { signal: AbortSignal.timeout(this.#options.timeoutMs ?? 30_000) }
    if (body !== undefined) {
      init.body = toExactJson(body)
      init.headers = { 'content-type': 'application/json' }
    }
    return (await this.#authorised(method, path, init)) as Data
  }

  /**
   * If the token was revoked or has expired and the secret is known, fetches a new token and repeats the call once. A stream can be
   * sent only once: then the next call fetches the token.
   */
  async #authorised(method: Method, path: string, init: RequestInit): Promise<unknown> {
    return this.#retried(
      (token) => this.#send(method, path, init, token),
      !(init.body instanceof ReadableStream),
    )
  }

  async #retried<T>(work: (token: string) => Promise<T>, isRepeatable = true): Promise<T> {
    const token = await this.#token()
    try {
      return await work(token)
    } catch (error) {
      const mayRenew = error instanceof HeraldError && error.code === REVOKED && this.#options.appSecret
      if (!mayRenew) throw error
      if (this.#credential.token === token) this.#credential.token = undefined
      if (!isRepeatable) throw error
      return await work(await this.#token())
    }
  }

  async #token(): Promise<string> {
    const credential = this.#credential
    if (credential.token !== undefined) return credential.token
    const { appSecret } = this.#options
    if (appSecret === undefined) throw new Error('HeraldServer needs an appSecret or a token for this call.')
    credential.pending ??= this.loginAdmin(appSecret)
      .then(({ token }) => {
        credential.token = token
        return token
      })
      .finally(() => {
        credential.pending = undefined
      })
    return credential.pending
  }

  /** A call that needs no token: its body has the credential. */
  #withoutToken<Record>(path: string, body: object): Promise<Record> {
    return this.#send('POST', path, {
      body: toExactJson(body),
      headers: { 'content-type': 'application/json' },
      signal: AbortSignal.timeout(this.#options.timeoutMs ?? 30_000),
    }) as Promise<Record>
  }

  async #send(method: Method, path: string, init: RequestInit, token?: string): Promise<unknown> {
    return readEnvelope(await this.#fetch(method, path, init, token))
  }

  #fetch(method: Method, path: string, init: RequestInit, token?: string): Promise<Response> {
    const { fetch = globalThis.fetch, baseUrl, appId } = this.#options
    return fetch(`${baseUrl}${path}`, {
      ...init,
      method,
      headers: {
        ...init.headers,
        app_id: appId,
        ...(token !== undefined && { 'access-token': token, ...this.#actAs }),
      },
    })
  }
}

/** The API ignores an id of white space. Callers in plain JavaScript may give one that is not a string, which it refuses. */
function isDeduplicated({ setting }: Notification): boolean {
  return typeof setting?.request_id === 'string' && setting.request_id.trim() !== ''
}

/** A network failure, a timeout, 429, or a failure of the server: the same call may succeed later. */
function isTransient(error: unknown): boolean {
  if (error instanceof HeraldError) return error.status === 429 || error.status >= 500
  return error instanceof TypeError || (error instanceof Error && error.name === 'TimeoutError')
}

/** Waits as long as the server asks, otherwise 0.2 s, 0.4 s and so on up to 5 s. */
function pause(error: unknown, attempt: number): Promise<void> {
  const asked = error instanceof HeraldError ? error.retryAfter : undefined
  const ms = asked !== undefined ? asked * 1000 : Math.min(5000, 200 * 2 ** attempt)
  return new Promise((resolve) => setTimeout(resolve, ms))
}

const CHUNK = 64 * 1024

async function* lines(
  devices: AsyncIterable<ImportedDevice> | Iterable<ImportedDevice>,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  let text = ''
  for await (const device of devices) {
    text += `${toExactJson(device)}\n`
    if (text.length < CHUNK) continue
    yield encoder.encode(text)
    text = ''
  }
  if (text !== '') yield encoder.encode(text)
}
