import type { ReleasedBatch } from '@herald/db/ledger'
import { describe, expect, it } from '@jest/globals'
import { jobsOf } from '../src/index.ts'

let made = 0
const batch = (change: Partial<ReleasedBatch> = {}): ReleasedBatch => ({
  taskId: 1,
  id: ++made,
  channel: 'fcm',
  certificateId: 7,
  node: null,
  lane: 'high',
  size: 1,
  ...change,
})
const sizes = (released: ReleasedBatch[]) => jobsOf(released).map(({ batches }) => batches.length)

describe('jobs', () => {
  it.each<[string, Partial<ReleasedBatch>]>([
    ['certificate', { certificateId: 8 }],
    ['channel', { channel: 'huawei' }],
    ['lane', { lane: 'normal' }],
    ['gateway', { channel: 'native', certificateId: null, node: 'a' }],
  ])('contain batches of one %s', (_, other) => {
    expect(sizes([batch(), batch(other), batch(), batch(other)])).toEqual([2, 2])
  })

  it('are separate for two gateways', () => {
    const native = { channel: 'native', certificateId: null } as const
    expect(jobsOf([batch({ ...native, node: 'a' }), batch({ ...native, node: 'b' })])).toHaveLength(2)
  })

  it('contain at most a thousand recipients and two hundred batches', () => {
    expect(sizes([batch({ size: 600 }), batch({ size: 400 }), batch({ size: 1 })])).toEqual([2, 1])
    expect(sizes(Array.from({ length: 201 }, () => batch()))).toEqual([200, 1])
  })

  it('contain the certificate and every batch once', () => {
    const released = [batch({ taskId: 3 }), batch({ taskId: 4 })]
    expect(jobsOf(released)).toMatchObject([
      {
        queue: 'push-fcm',
        certificateId: '7',
        batches: released.map(({ taskId, id }) => ({ taskId, id })),
      },
    ])
  })
})
