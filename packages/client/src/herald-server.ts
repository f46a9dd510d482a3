import { readEnvelope } from './envelope.ts'
import { type Int64, toExactJson } from './exact-json.ts'
import { HeraldError } from './herald-error.ts'
import type { Message, Notification, Setting } from './notification.ts'
import type {
  AdminTokenRecord,
  CertificateRecord,
  CertificateView,
  DeviceView,
  Environment,
  Explanation,
  FailureGroup,
  GroupView,
  ImportedDevice,
  ImportReport,
  NewCertificate,
  Page,
  PageWish,
  Provider,
  TaskStatistics,
  TaskView,
  TokenRecord,
  UserView,
} from './records.ts'

export type HeraldServerOptions = {
  baseUrl: string
  appId: string
  /** Either the secret, with which an admin token is fetched when needed, or a token. */
  appSecret?: string
  token?: string
  /** Time limit of a call; imports have none. */
  timeoutMs?: number
  fetch?: typeof globalThis.fetch
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'
type ActAs = { user_id?: string; group_id?: string }
type Credential = { token?: string; pending?: Promise<string> }

const REVOKED = 40102

/** Herald as a back end sees it. Every call resolves with `data` of the answer or rejects with a HeraldError. */
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

  /** The same server, acting as one user with that user's rights. */
  asUser(userId: Int64): HeraldServer {
    return new HeraldServer(this.#options, { user_id: String(userId) }, this.#credential)
  }

  /** The same server, reaching only the members of one group. */
  asGroup(groupId: Int64): HeraldServer {
    return new HeraldServer(this.#options, { group_id: String(groupId) }, this.#credential)
  }

  loginById(userId: Int64, password: string, deviceGuid?: string): Promise<TokenRecord> {
    return this.#login('/token/id', { user_id: userId, password, device_guid: deviceGuid })
  }

  loginByName(name: string, password: string, deviceGuid?: string): Promise<TokenRecord> {
    return this.#login('/token/user', { name, password, device_guid: deviceGuid })
  }

  /** By mobile number, email or username. */
  login(loginName: string, password: string, deviceGuid?: string): Promise<TokenRecord> {
    return this.#login('/token/login', { login_name: loginName, password, device_guid: deviceGuid })
  }

  loginAdmin(appSecret: string): Promise<AdminTokenRecord> {
    return this.#login('/token/admin', { app_secret: appSecret })
  }

  async revokeTokens(): Promise<void> {
    await this.call('POST', '/token/revoke', {})
  }

  notify(notification: Notification): Promise<{ task_id: Int64 }> {
    return this.call('POST', '/push/notify', notification)
  }

  explain(notification: { message: Message; setting?: Setting }, pushToken: string): Promise<Explanation> {
    return this.call('POST', '/push/explain', { ...notification, push_token: pushToken })
  }

  taskDetail(taskIds: Int64[]): Promise<TaskStatistics[]> {
    return this.call('POST', '/push/task/detail', { list: taskIds })
  }

  taskList(wish: { limit?: number; before?: Int64; state?: string } = {}): Promise<Page<TaskView>> {
    return this.call('POST', '/push/task/list', wish)
  }

  /** One task as the list has it; undefined when there is none with this id. */
  async task(taskId: Int64): Promise<TaskView | undefined> {
    const { list } = await this.taskList({ limit: 1, before: BigInt(taskId) + 1n })
    return list[0] !== undefined && BigInt(list[0].task_id) === BigInt(taskId) ? list[0] : undefined
  }

  async cancelTask(taskId: Int64): Promise<void> {
    await this.call('POST', '/push/task/cancel', { task_id: taskId })
  }

  async pauseTask(taskId: Int64): Promise<void> {
    await this.call('POST', '/push/task/pause', { task_id: taskId })
  }

  async resumeTask(taskId: Int64): Promise<void> {
    await this.call('POST', '/push/task/resume', { task_id: taskId })
  }

  taskFailures(taskId: Int64): Promise<FailureGroup[]> {
    return this.call('POST', '/push/task/failures', { task_id: taskId })
  }

  certificate(provider: Provider, environment: Environment = 1): Promise<CertificateRecord> {
    return this.call('GET', `/push/certificate?provider=${provider}&environment=${environment}`)
  }

  putCertificate(certificate: NewCertificate): Promise<{
    provider: Provider
    environment: Environment
    expires_at: number | null
    callback_url: string | null
  }> {
    return this.call('PUT', '/admin/push/certificate', certificate)
  }

  certificates(): Promise<CertificateView[]> {
    return this.call('GET', '/admin/push/certificate/list')
  }

  checkCertificate(
    provider: Provider,
    environment: Environment = 1,
  ): Promise<{ ok: boolean; problem: string | null; temporary: boolean }> {
    return this.call('POST', '/admin/push/certificate/check', { provider, environment })
  }

  async removeCertificate(provider: Provider, environment: Environment = 1): Promise<void> {
    await this.call('POST', '/admin/push/certificate/remove', { provider, environment })
  }

  createUser(user: {
    username: string
    password: string
    mobile?: string
    email?: string
  }): Promise<{ user_id: Int64 }> {
    return this.call('POST', '/admin/user', user)
  }

  users(wish: PageWish = {}): Promise<Page<UserView>> {
    return this.call('POST', '/admin/user/list', wish)
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

  groups(wish: PageWish = {}): Promise<Page<GroupView>> {
    return this.call('POST', '/admin/group/list', wish)
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

  members(groupId: Int64, wish: PageWish = {}): Promise<Page<UserView>> {
    return this.call('POST', '/admin/group/member/list', { group_id: groupId, ...wish })
  }

  devices(
    wish: PageWish & {
      user_id?: Int64
      alias?: string
      tag?: string
      /** A vendor token or a push token. */
      token?: string
      device_guid?: string
    } = {},
  ): Promise<Page<DeviceView>> {
    return this.call('POST', '/admin/device/list', wish)
  }

  /** Streams devices as they come; memory does not grow with their number. */
  importDevices(devices: AsyncIterable<ImportedDevice> | Iterable<ImportedDevice>): Promise<ImportReport> {
    return this.importLines(lines(devices))
  }

  /** Streams text that already is one JSON object a line, as it comes; a chunk may end anywhere. */
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
      // Node's fetch copies a body that a redirect might need again, whole, into memory; these two say that none will.
      redirect: 'error',
      window: null,
    }
    return this.#authorised('POST', '/admin/device/import', init as RequestInit) as Promise<ImportReport>
  }

  /** Any call by its path, for what has no method here. */
  async call<Data>(method: Method, path: string, body?: unknown): Promise<Data> {
    const init: RequestInit = { signal: AbortSignal.timeout(this.#options.timeoutMs ?? 30_000) }
    if (body !== undefined) {
      init.body = toExactJson(body)
      init.headers = { 'content-type': 'application/json' }
    }
    return (await this.#authorised(method, path, init)) as Data
  }

  /** A token that was revoked or ran out is replaced once, when the secret to do so is known. */
  async #authorised(method: Method, path: string, init: RequestInit): Promise<unknown> {
    const token = await this.#token()
    try {
      return await this.#send(method, path, init, token)
    } catch (error) {
      const mayRetry = error instanceof HeraldError && error.code === REVOKED && this.#options.appSecret
      if (!mayRetry || init.body instanceof ReadableStream) throw error
      if (this.#credential.token === token) this.#credential.token = undefined
      return await this.#send(method, path, init, await this.#token())
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

  #login<Record>(path: string, body: object): Promise<Record> {
    return this.#send('POST', path, {
      body: toExactJson(body),
      headers: { 'content-type': 'application/json' },
      signal: AbortSignal.timeout(this.#options.timeoutMs ?? 30_000),
    }) as Promise<Record>
  }

  async #send(method: Method, path: string, init: RequestInit, token?: string): Promise<unknown> {
    const { fetch = globalThis.fetch, baseUrl, appId } = this.#options
    const response = await fetch(`${baseUrl}${path}`, {
      ...init,
      method,
      headers: {
        ...init.headers,
        app_id: appId,
        ...(token !== undefined && { 'access-token': token, ...this.#actAs }),
      },
    })
    return readEnvelope(response)
  }
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
