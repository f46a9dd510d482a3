import type { Message } from '@herald/domain'

/** A plain text message in normal form; override what a case is about. */
export function sampleMessage(over: Partial<Message> = {}): Message {
  return {
    type: 'text',
    title: 'Hello',
    body: 'World',
    badge: { kind: 'add', count: 1 },
    ios: {},
    android: {},
    huawei: {},
    honor: {},
    xiaomi: {},
    oppo: {},
    vivo: {},
    flyme: {},
    fcm: {},
    ...over,
  }
}
