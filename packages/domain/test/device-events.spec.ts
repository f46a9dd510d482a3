import { describe, expect, it } from '@jest/globals'
import { deviceEvents, type Why } from '../src/index.ts'

const why = (f: Why['f'], code: string, ...p: number[]): Why => ({ f, c: code, t: `text of ${code}`, p })

describe('deviceEvents', () => {
  const recipients = [11, 12, 13, 14, 15, 16]

  it('lists the devices of each counter that has events, by code', () => {
    const whys = [
      why('failed', 'a', 4, 1),
      why('failed', 'b', 2),
      why('expired', 'c', 3),
      why('moved', 'd', 5),
      why('pending', 'e', 5),
      why('cancelled', 'f', 5),
    ]
    expect(deviceEvents(recipients, [0], whys)).toEqual([
      { kind: 'device.sent', devices: [11] },
      { kind: 'device.failed', code: 'a', text: 'text of a', devices: [12, 15] },
      { kind: 'device.failed', code: 'b', text: 'text of b', devices: [13] },
      { kind: 'device.expired', code: 'c', text: 'text of c', devices: [14] },
    ])
  })

  it('needs no list if all recipients of the batch were sent to', () => {
    expect(deviceEvents(recipients, [0, 1, 2, 3, 4, 5], [])).toEqual([{ kind: 'device.sent' }])
    expect(deviceEvents(recipients, [], [])).toEqual([])
  })
})
