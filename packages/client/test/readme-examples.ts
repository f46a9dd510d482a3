import { HeraldServer } from '@herald/client'
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

type App = Record<'baseUrl' | 'appId' | 'name' | 'password' | 'deviceGuid' | 'device_token', string>

export async function firstStart({ baseUrl, appId, name, password, deviceGuid, device_token }: App) {
  const { token, push_token } = await new HeraldServer({ baseUrl, appId }).login(name, password, deviceGuid)
  const user = new HeraldServer({ baseUrl, appId, token })
  await user.call('POST', '/user/token/bind', { push_token, provider: 2, device_token })
}

declare const localStorage: { getItem(key: string): string | null; setItem(key: string, value: string): void }
declare const navigator: { setAppBadge?(count: number): Promise<void> }
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
