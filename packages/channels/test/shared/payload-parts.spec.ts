import { describe, expect, it } from '@jest/globals'
import { asStrings, clientData, timeLeft } from '../../src/shared/payload-parts.ts'
import { sampleNow, sampleTask } from '../samples.ts'

describe('clientData', () => {
  it('adds the task id to ext, keeps digits, and prefers ext to fields', () => {
    const task = sampleTask({ ext: '{"id":9007199254740993,"title":"own"}' }, { taskId: 12 })
    const data = clientData(task, { title: 'ours', body: 'b', image: undefined })
    expect(JSON.stringify(data)).toBe('{"title":"own","body":"b","id":9007199254740993,"task_id":"12"}')
  })

  it('does not let ext replace the task id', () => {
    expect(clientData(sampleTask({ ext: '{"task_id":"99"}' }, { taskId: 12 }))).toEqual({ task_id: '12' })
  })

  it('keeps unusual keys and values as strings', () => {
    const ext = '{"__proto__":{"x":1},"n":1e3,"t":true,"z":null,"l":[1.0]}'
    expect(JSON.stringify(asStrings(clientData(sampleTask({ ext }, { taskId: 42 }))))).toBe(
      '{"__proto__":"{\\"x\\":1}","n":"1e3","t":"true","z":"null","l":"[1.0]","task_id":"42"}',
    )
  })
})

describe('timeLeft', () => {
  it.each([
    ['the ttl', 3600, undefined, 3600],
    ['the window when it closes first', 3600, sampleNow + 120, 120],
    ['the vendor’s maximum', 999_999, sampleNow + 999_999, 86_400],
    ['the vendor’s minimum', 0, undefined, 60],
    ['the vendor’s minimum after the window', 3600, sampleNow - 1, 60],
    ['whole seconds', 99.9, undefined, 99],
  ] as const)('is %s', (_name, ttl, showEnd, expected) => {
    expect(timeLeft(sampleTask({ showEnd }, { ttl }), { min: 60, max: 86_400 })).toBe(expected)
  })
})
