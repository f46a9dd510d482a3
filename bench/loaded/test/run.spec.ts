import { describeWith } from '@herald/testkit'
import { expect, it } from '@jest/globals'
import { measureLoaded } from '../run.ts'

describeWith('redis-server')('the comparison with a loaded database', () => {
  it('takes a figure in an empty and in a loaded database by turns', async () => {
    const lines: string[] = []
    const { metrics: ratios, failed } = await measureLoaded({
      scale: 'small',
      only: 'receipts',
      rounds: 1,
      say: (line) => lines.push(line),
    })
    expect(failed).toEqual([])
    expect(Object.keys(ratios)).toEqual(['receipts_per_s_loaded_ratio', 'receipt_cpu_us_each_loaded_ratio'])
    for (const { value } of Object.values(ratios)) expect(value).toBeGreaterThan(0)
    expect(lines.filter((line) => line.endsWith('…'))).toEqual([
      'receipts, round 1, empty …',
      'receipts, round 1, loaded …',
    ])
  }, 600_000)

  it('names a suite that does not exist', async () => {
    const unknown = measureLoaded({ scale: 'small', only: 'nothing', say: () => {} })
    await expect(unknown).rejects.toThrow('There is no suite nothing.')
  })
})
