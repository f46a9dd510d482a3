import { type Message, type ObjectName, objectNames } from '@herald/domain'

const noOptions = () => Object.fromEntries(objectNames.map((name) => [name, {}])) as Pick<Message, ObjectName>

/** A text message in normal form with the given fields overridden. */
export function sampleMessage(over: Partial<Message> = {}): Message {
  return {
    type: 'text',
    title: 'Hello',
    body: 'World',
    badge: { kind: 'add', count: 1 },
    ...noOptions(),
    ...over,
  }
}
