import { expect, it } from '@jest/globals'
import { createQueueHandles } from '../src/queue-handles.ts'

function opened() {
  const open = new Set<string>()
  let time = 0
  const handles = createQueueHandles({
    open: (name) => {
      open.add(name)
      return name
    },
    close: (name) => open.delete(name),
    idleMs: 1000,
    now: () => time,
  })
  return { open, handles, pass: (ms: number) => (time += ms) }
}

it('handles of gateways that left are closed, however many came and went', () => {
  const { open, handles, pass } = opened()
  for (let node = 0; node < 100; node++) {
    handles.get(`push-native-${node}`)
    handles.get('push-apns')
    pass(400)
  }
  expect(open.size).toBeLessThan(6)
  expect(open).toContain('push-apns')
})

it('a pinned handle stays open until it is unpinned', () => {
  const { open, handles, pass } = opened()
  handles.pin('a')
  pass(5000)
  handles.get('b')
  expect(open).toContain('a')
  handles.unpin('a')
  handles.get('c')
  expect(open).not.toContain('a')
})

it('a handle that was taken is opened again', () => {
  const { open, handles } = opened()
  expect(handles.take('a')).toBeUndefined()
  handles.get('a')
  expect(handles.take('a')).toBe('a')
  open.clear()
  handles.get('a')
  expect(open).toContain('a')
  expect(handles.takeAll()).toEqual(['a'])
})
