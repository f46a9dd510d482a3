import { expect, it } from '@jest/globals'
import type { Message, Provider, Setting, TaskStatistics, VendorFields } from '../src/index.ts'

const android = {
  sound: 'ding',
  channel_id: 'news',
  click_action: 'intent',
  intent: 'intent:#Intent;end',
} as const

/** Derived from the cards, so a wrong derivation is an error of the type check here. */
it('types know the vendors', () => {
  const message: Message = {
    ios: {
      sound: 'ding',
      content_available: true,
      mutable_content: false,
      category: 'c',
      thread_id: 't',
      subtitle: 's',
      apns_collapse_id: 'i',
    },
    android,
    huawei: {
      ...android,
      badge_class: 'com.example.Main',
      category: 'IM',
      importance: 'HIGH',
      urgency: 'NORMAL',
    },
    honor: { ...android, badge_class: 'com.example.Main', importance: 'LOW' },
    xiaomi: { ...android, template_id: '1', template_param: { name: 'Bob' } },
    oppo: {
      ...android,
      category: 'IM',
      notify_level: 16,
      private_msg_template_id: '1',
      private_title_parameters: '{}',
      private_content_parameters: {},
    },
    vivo: { ...android, push_mode: 1, classification: 0, category: 'IM' },
    flyme: { ...android, notice_msg_type: 1 },
    fcm: android,
  }
  const sequence: Setting['ospush_sequence'] = [
    'ups',
    'fcm',
    'huawei',
    'xiaomi',
    'oppo',
    'vivo',
    'meizu',
    'honor',
  ]
  const providers: Provider[] = [1, 2, 3, 4, 5, 6, 7, 8]
  const counters: (keyof TaskStatistics)[] = ['task_id', 'apns_target', 'flyme_sent', 'nativepush_received']
  expect([message, sequence, providers, counters]).toBeDefined()
})

it('types refuse what the API refuses', () => {
  // @ts-expect-error the levels are 1, 2 and 16
  const level: VendorFields<'oppo'> = { notify_level: 3 }
  // @ts-expect-error a field of another vendor
  const field: VendorFields<'honor'> = { urgency: 'HIGH' }
  // @ts-expect-error iOS has no channels
  const channel: VendorFields<'ios'> = { channel_id: 'news' }
  // @ts-expect-error the object is named flyme
  const object: Message = { meizu: {} }
  // @ts-expect-error APNs is the only channel of its devices
  const word: Setting = { ospush_sequence: ['apns'] }
  // @ts-expect-error there is no vendor 0
  const provider: Provider = 0
  // @ts-expect-error the counters have the public name
  const counter: keyof TaskStatistics = 'meizu_sent'
  expect([level, field, channel, object, word, provider, counter]).toBeDefined()
})
