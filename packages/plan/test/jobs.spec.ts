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
  lost: 0,
  releasedAt: 0,
  ...change,
})
const sizes = (released: ReleasedBatch[]) => jobsOf(released).map(({ batches }) => batches.length)

describe('jobs', () => {
  it.each<[string, Partial<ReleasedBatch>]>([
    ['channel', { channel: 'huawei' }],
    ['lane', { lane: 'normal' }],
    ['gateway', { channel: 'native', certificateId: null, node: 'a' }],
  ])('contain batches of one %s', (_, other) => {
    expect(sizes([batch(), batch(other), batch(), batch(other)])).toEqual([2, 2])
  })

  it('contain one bundle each, and its certificates', () => {
    const bundle = { id: 0, certificateId: null, certificateIds: [7, 8], size: 5 }
    const jobs = jobsOf([
      batch({ ...bundle, taskId: 11 }),
      batch(),
      batch({ ...bundle, taskId: 12, lane: 'normal' }),
    ])
    expect(jobs).toMatchObject([
      { queue: 'push-fcm', certificateIds: ['7', '8'], batches: [], bundle: 11 },
      { queue: 'push-fcm-normal', certificateIds: ['7', '8'], batches: [], bundle: 12 },
      { queue: 'push-fcm', certificateIds: ['7'], batches: [{ taskId: 1 }] },
    ])
  })

  it('are shared by certificates that have little', () => {
    const tenants = Array.from({ length: 64 }, (_, n) => batch({ taskId: n, certificateId: n + 1 }))
    expect(jobsOf(tenants)).toMatchObject([
      {
        queue: 'push-fcm',
        certificateIds: tenants.map(({ certificateId }) => String(certificateId)),
        batches: tenants.map(({ taskId, id }) => ({ taskId, id })),
      },
    ])
    const [first] = jobsOf([batch(), batch({ certificateId: 8 }), batch(), batch({ certificateId: 8 })])
    expect(first!.certificateIds).toEqual(['7', '8'])
  })

  it('have one certificate each if they may not be shared', () => {
    const jobs = jobsOf([batch(), batch({ certificateId: 8 }), batch()], false)
    expect(jobs.map(({ certificateIds, batches }) => [certificateIds, batches.length])).toEqual([
      [['7'], 2],
      [['8'], 1],
    ])
  })

  it('are not shared with a certificate that has much', () => {
    const many = Array.from({ length: 9 }, () => batch({ certificateId: 8 }))
    const large = batch({ certificateId: 9, size: 65 })
    const jobs = jobsOf([batch(), ...many, large, batch({ certificateId: 10 })])
    expect(jobs.map(({ certificateIds, batches }) => [certificateIds, batches.length])).toEqual([
      [['7', '10'], 2],
      [['8'], 9],
      [['9'], 1],
    ])
  })

  it('are separate for two gateways', () => {
    const native = { channel: 'native', certificateId: null } as const
    expect(jobsOf([batch({ ...native, node: 'a' }), batch({ ...native, node: 'b' })])).toHaveLength(2)
  })

  it('contain at most a thousand recipients and 64 batches', () => {
    expect(sizes([batch({ size: 600 }), batch({ size: 400 }), batch({ size: 1 })])).toEqual([2, 1])
    expect(sizes(Array.from({ length: 65 }, () => batch()))).toEqual([64, 1])
  })

  it('contain one batch if its last lease ended without a settle', () => {
    const lost = batch({ lost: 1 })
    const jobs = jobsOf([batch(), lost, batch(), batch({ lost: 2 }), batch()])
    expect(jobs.map(({ batches }) => batches.length)).toEqual([3, 1, 1])
    expect(jobs[1]!.batches).toEqual([{ taskId: lost.taskId, id: lost.id }])
  })

  it('go to the queue of their channel and lane', () => {
    expect(jobsOf([batch(), batch({ lane: 'normal' })]).map(({ queue }) => queue)).toEqual([
      'push-fcm',
      'push-fcm-normal',
    ])
  })

  it('have the time of the batch that was released first', () => {
    expect(jobsOf([batch({ releasedAt: 7 }), batch({ releasedAt: 5 })])).toMatchObject([{ releasedAt: 5 }])
  })

  it('contain the certificate and every batch once', () => {
    const released = [batch({ taskId: 3 }), batch({ taskId: 4 })]
    expect(jobsOf(released)).toMatchObject([
      {
        queue: 'push-fcm',
        certificateIds: ['7'],
        batches: released.map(({ taskId, id }) => ({ taskId, id })),
      },
    ])
  })
})
