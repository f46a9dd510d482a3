import { describe, expect, it } from '@jest/globals'
import { InvalidJob } from '../src/errors.ts'
import { decodePushJob, encodePushJob } from '../src/push-job.ts'

describe('a push job', () => {
  it.each([
    { certificateIds: ['7'], batches: [{ taskId: 9007199254740991, id: 1 }] },
    { certificateIds: ['7', '8'], batches: [{ taskId: 1, id: 2 }] },
    { certificateIds: ['7', '8'], batches: [], bundle: 9007199254740991 },
    {
      certificateIds: [],
      batches: [
        { taskId: 1, id: 2 },
        { taskId: 1, id: 3 },
      ],
    },
  ])('survives JSON: %j', (job) => {
    expect(decodePushJob(JSON.parse(JSON.stringify(encodePushJob(job))))).toEqual(job)
  })

  it('is stored with its version and ids only', () => {
    const batches = [{ taskId: 1, id: 2 }]
    expect(encodePushJob({ certificateIds: ['7'], batches })).toEqual({
      v: 1,
      certificateId: '7',
      batches: [[1, 2]],
    })
    expect(encodePushJob({ certificateIds: [], batches })).toMatchObject({ v: 1, certificateId: null })
    expect(encodePushJob({ certificateIds: ['7', '8'], batches })).toEqual({
      v: 2,
      certificateIds: ['7', '8'],
      batches: [[1, 2]],
    })
  })

  it('of the previous release is read', () => {
    expect(decodePushJob({ v: 1, certificateId: '7', batches: [[1, 2]] })).toEqual({
      certificateIds: ['7'],
      batches: [{ taskId: 1, id: 2 }],
    })
    expect(decodePushJob({ v: 1, certificateId: null, batches: [[1, 2]] })).toMatchObject({
      certificateIds: [],
    })
  })

  it.each([
    ['nothing', undefined, /not an object/],
    ['a list', [], /version undefined/],
    ['a newer version', { v: 4, certificateId: '7', batches: [[1, 2]] }, /version 4/],
    [
      'a bundle and batches',
      { v: 3, certificateIds: ['7'], bundle: 1, batches: [[1, 2]] },
      /unknown field "batches"/,
    ],
    ['a bundle that is no id', { v: 3, certificateIds: ['7'], bundle: '1' }, /bundle/],
    [
      'a bundle in version 2',
      { v: 2, certificateIds: ['7'], bundle: 1, batches: [[1, 2]] },
      /unknown field "bundle"/,
    ],
    [
      'one certificate in version 2',
      { v: 2, certificateId: '7', batches: [[1, 2]] },
      /unknown field "certificateId"/,
    ],
    [
      'several in version 1',
      { v: 1, certificateIds: ['7'], batches: [[1, 2]] },
      /unknown field "certificateIds"/,
    ],
    ['no list of certificates', { v: 2, batches: [[1, 2]] }, /certificateIds/],
    ['an empty list of certificates', { v: 2, certificateIds: [], batches: [[1, 2]] }, /certificateIds/],
    ['a list with null', { v: 2, certificateIds: ['7', null], batches: [[1, 2]] }, /certificateIds/],
    ['a certificate that is no number', { v: 1, certificateId: 'x', batches: [[1, 2]] }, /certificateId/],
    [
      'an unknown field',
      { v: 1, certificateId: '7', batches: [[1, 2]], message: 'hi' },
      /unknown field "message"/,
    ],
    ['no certificate', { v: 1, batches: [[1, 2]] }, /certificateId/],
    ['a blank certificate', { v: 1, certificateId: '', batches: [[1, 2]] }, /certificateId/],
    ['a certificate that is a number', { v: 1, certificateId: 7, batches: [[1, 2]] }, /certificateId/],
    ['no batches', { v: 1, certificateId: '7', batches: [] }, /has no batches/],
    ['batches that are no list', { v: 1, certificateId: '7', batches: {} }, /has no batches/],
    ['a batch without a task', { v: 1, certificateId: '7', batches: [[2]] }, /pair/],
    ['a batch of three', { v: 1, certificateId: '7', batches: [[1, 2, 3]] }, /pair/],
    ['an id as text', { v: 1, certificateId: '7', batches: [['1', 2]] }, /pair/],
    ['an id beyond 2^53', { v: 1, certificateId: '7', batches: [[1, 2 ** 53]] }, /pair/],
    ['a negative id', { v: 1, certificateId: '7', batches: [[1, -2]] }, /pair/],
  ])('is refused with %s', (_, stored, sentence) => {
    expect(() => decodePushJob(stored)).toThrow(InvalidJob)
    expect(() => decodePushJob(stored)).toThrow(sentence)
  })

  it('is not stored when it could not be read again', () => {
    expect(() => encodePushJob({ certificateIds: ['7'], batches: [] })).toThrow(InvalidJob)
    expect(() => encodePushJob({ certificateIds: ['7'], batches: [{ taskId: 1.5, id: 1 }] })).toThrow(
      InvalidJob,
    )
  })
})
