import { HeraldError, HeraldServer, type Int64 } from '@herald/client'
import { connectDevice } from '@herald/client/device'

// The examples of the README, so that they are type-checked; readme.spec.ts compares both.

export async function serverSide(appId: string, appSecret: string) {
  const herald = new HeraldServer({ baseUrl: 'http://127.0.0.1:7100', appId, appSecret })
  const { task_id } = await herald.notify({
    audience: { tag: ['vip'] },
    setting: { request_id: 'order-77' },
    message: { title: 'Shipped', body: 'Order 77 is on its way' },
  })
  const [statistics] = await herald.taskDetail([task_id])
  return statistics
}

export async function ownServer(herald: HeraldServer, device_guid: string, device_token: string) {
  const { push_token } = await herald.putDevice({
    device_guid,
    platform: 'android',
    alias: 'customer-17',
    add_tags: ['vip'],
    bindings: [{ provider: 'xiaomi', device_token }],
    locale: 'zh-CN',
    timezone: 'Asia/Shanghai',
  })
  await herald.putDevice({ device_guid, alias: null })
  await herald.erase({ alias: 'customer-17' })
  return push_token
}

export async function retrying(appId: string, appSecret: string) {
  const patient = new HeraldServer({ baseUrl: 'http://127.0.0.1:7100', appId, appSecret, retries: 5 })
  try {
    await patient.notify({ audience: 'all', setting: { request_id: 'sale-3' }, message: { title: 'Sale' } })
  } catch (error) {
    if (error instanceof HeraldError && error.code === 40003) report(error.message)
    else throw error
  }
}

type App = Record<'baseUrl' | 'appId' | 'idToken' | 'deviceGuid' | 'device_token', string> & {
  task_id: Int64
}

export async function firstStart({ baseUrl, appId, idToken, deviceGuid, device_token, task_id }: App) {
  const app = new HeraldServer({ baseUrl, appId })
  const { push_token } = await app.exchangeToken(idToken, deviceGuid)
  await app.bindToken(push_token!, { provider: 'huawei', device_token })
  await app.sendReceipts(push_token!, [{ task_id, event: 'clicked' }])
  await app.setBadge(push_token!, 0)
}

declare const localStorage: { getItem(key: string): string | null; setItem(key: string, value: string): void }
declare const navigator: { setAppBadge?(count: number): Promise<void> }
declare function report(problem: string): void
declare function show(title?: string, body?: string): void

export function deviceSide(pushToken: string) {
  const device = connectDevice({
    url: 'wss://push.example.com/native',
    pushToken,
    storage: localStorage,
    onMessage: ({ message }) => show(message.title, message.body),
    onBadge: (count) => navigator.setAppBadge?.(count),
  })
  return device
}
