import type { ClaimedBatch, PlannedTask } from '@herald/db/tasks'
import { describe, expect, it } from '@jest/globals'
import { createWrittenBatches, uncounted, type WrittenBatch } from '../src/written-batches.ts'

const task = {} as PlannedTask

/** Opens a batch whose devices were all written to at `now`. */
function openBatch(
  written: ReturnType<typeof createWrittenBatches>,
  recipients: number[],
  taskId = 1,
  now = 0,
) {
  const entry = written.open({ taskId, recipients } as ClaimedBatch, task, now)
  for (const [index, deviceId] of recipients.entries()) {
    entry.results.set(index, 'written')
    entry.awaited.set(deviceId, index)
  }
  return entry
}
const resultsOf = ({ results }: WrittenBatch) => [...results.values()]

describe('a batch that was written', () => {
  it('is due when all devices have acknowledged', () => {
    const written = createWrittenBatches()
    const entry = openBatch(written, [7, 8])
    expect(written.takesAcknowledgement(1, 7, 5)).toBe(true)
    expect(written.takeDue(6, false)).toEqual([])
    expect(written.takesAcknowledgement(1, 8, 7)).toBe(true)
    expect(written.takeDue(8, false)).toEqual([entry])
    expect(resultsOf(entry)).toEqual(['acknowledged', 'acknowledged'])
    expect(written.areWaiting()).toBe(false)
  })

  it.each([
    ['no device acknowledges', [], 99, 100],
    ['the last acknowledgement is 100 ms old', [60, 120], 219, 220],
    ['acknowledgements keep arriving', [90, 180, 270, 360], 399, 400],
  ])('is due when %s', (_name, heard, before, due) => {
    const written = createWrittenBatches()
    openBatch(written, [1, 2, 3, 4, 5])
    for (const [n, at] of heard.entries()) written.takesAcknowledgement(1, n + 1, at)
    expect(written.takeDue(before, false).length).toBe(0)
    expect(written.takeDue(due, false).length).toBe(1)
  })

  it('is not due for missing acknowledgements while sockets were not read', () => {
    const written = createWrittenBatches()
    openBatch(written, [7])
    expect(written.takeDue(200, true)).toEqual([])
    expect(written.takeDue(400, true).length).toBe(1)
  })

  it('does not wait for a device whose connection ended, which stays written', () => {
    const written = createWrittenBatches()
    const entry = openBatch(written, [7])
    written.expectsNoMore(7, [1, 2])
    expect(written.takesAcknowledgement(1, 7, 1)).toBe(false)
    expect(written.takeDue(1, false)).toEqual([entry])
    expect(resultsOf(entry)).toEqual(['written'])
  })

  it('accepts acknowledgements of its own devices and tasks only, each once', () => {
    const written = createWrittenBatches()
    openBatch(written, [7])
    expect(written.takesAcknowledgement(2, 7, 1)).toBe(false)
    expect(written.takesAcknowledgement(1, 8, 1)).toBe(false)
    expect(written.takesAcknowledgement(1, 7, 1)).toBe(true)
    expect(written.takesAcknowledgement(1, 7, 1)).toBe(false)
  })

  it('distinguishes the devices of two batches of one task', () => {
    const written = createWrittenBatches()
    const [one, two] = [openBatch(written, [7]), openBatch(written, [8])]
    expect(written.takesAcknowledgement(1, 8, 1)).toBe(true)
    expect([resultsOf(one), resultsOf(two)]).toEqual([['written'], ['acknowledged']])
    written.close(two)
    expect(written.takesAcknowledgement(1, 7, 1)).toBe(true)
    written.close(one)
    expect(written.takesAcknowledgement(1, 7, 1)).toBe(false)
  })

  it('leaves acknowledgements uncounted that arrive during the settle, and all when another process settled the batch', () => {
    const written = createWrittenBatches()
    const entry = openBatch(written, [7, 8, 9])
    written.takesAcknowledgement(1, 7, 1)
    expect(written.takeDue(400, false)).toEqual([entry])
    expect(written.takesAcknowledgement(1, 8, 401)).toBe(true)
    expect(resultsOf(entry)).toEqual(['acknowledged', 'written', 'written'])
    expect(uncounted(entry, true)).toEqual([8])
    expect(uncounted(entry, false)).toEqual([7, 8])
  })
})
