import { describe, expect, it } from '@jest/globals'
import type { Metrics } from '../../metric.ts'
import { aboveLimit, loadedRatios, needsAnotherRound, startFigures } from '../ratios.ts'

const metrics = (values: Record<string, [value: number, unit: string]>): Metrics =>
  Object.fromEntries(
    Object.entries(values).map(([name, [value, unit]]) => [name, { value, unit, note: 'of the run' }]),
  )

describe('the ratios of a loaded database', () => {
  it('are above 1 when the loaded database is slower, whether more or less is better', () => {
    const round = {
      empty: metrics({ push_per_s: [200, 'requests/s'], push_cpu_us_each: [100, 'µs'] }),
      loaded: metrics({ push_per_s: [100, 'requests/s'], push_cpu_us_each: [110, 'µs'] }),
    }
    const ratios = loadedRatios([round])
    expect(ratios.push_per_s_loaded_ratio!.value).toBe(2)
    expect(ratios.push_cpu_us_each_loaded_ratio!.value).toBe(1.1)
    expect(aboveLimit(ratios)).toEqual(['push_per_s_loaded_ratio'])
  })

  it('compare the best run of each database, so that a slow phase of the machine cancels out', () => {
    const round = (empty: number, loaded: number) => ({
      empty: metrics({ push_per_s: [empty, 'requests/s'], rss: [1000 / empty, 'MB'] }),
      loaded: metrics({ push_per_s: [loaded, 'requests/s'], rss: [1000 / loaded, 'MB'] }),
    })
    const ratios = loadedRatios([round(200, 50), round(100, 160)])
    const note = (best: string) => `${best} in an empty database; by round: 4, 0.63`
    expect(ratios.push_per_s_loaded_ratio).toEqual({
      value: 1.25,
      unit: 'times',
      note: note('160 against 200 requests/s'),
    })
    expect(ratios.rss_loaded_ratio).toEqual({ value: 1.25, unit: 'times', note: note('6.25 against 5 MB') })
  })

  it('leave out counts, comparisons and figures without a value', () => {
    const values = metrics({
      lost: [0, 'devices'],
      open: [50, 'connections'],
      growth: [0.3, 'times'],
      wal: [0, 'bytes'],
    })
    expect(loadedRatios([{ empty: values, loaded: values }])).toEqual({})
  })

  it('show what a start costs as it is', () => {
    const values = (ms: number) => metrics({ look_ms: [ms, 'ms per start'], push_cpu_us_each: [1, 'µs'] })
    const rounds = [
      { empty: values(0), loaded: values(900) },
      { empty: values(10), loaded: values(1100) },
    ]
    const figures = startFigures(rounds)
    expect(figures).toEqual({
      look_ms_loaded: { value: 1000, unit: 'ms per start', note: '5 in an empty database; of the run' },
    })
    expect(aboveLimit(figures)).toEqual([])
    expect(Object.keys(loadedRatios(rounds))).toEqual(['push_cpu_us_each_loaded_ratio'])
  })

  it('are taken in two rounds, and again while one is above the limit', () => {
    const round = (loaded: number) => ({
      empty: metrics({ cpu: [100, 'µs'], rss: [100, 'MB'] }),
      loaded: metrics({ cpu: [loaded, 'µs'], rss: [100, 'MB'] }),
    })
    expect(needsAnotherRound([], 4)).toBe(true)
    expect(needsAnotherRound([round(100)], 4)).toBe(true)
    expect(needsAnotherRound([round(130), round(115)], 4)).toBe(false)
    const above = [round(130), round(120), round(125)]
    expect(needsAnotherRound(above, 4)).toBe(true)
    expect(needsAnotherRound([...above, round(130)], 4)).toBe(false)
    expect(needsAnotherRound([round(130)], 1)).toBe(false)
  })

  it('are not above the limit at the limit', () => {
    const ratio = (value: number) => ({ a_loaded_ratio: { value, unit: 'times', note: '' } })
    expect(aboveLimit(ratio(1.15))).toEqual([])
    expect(aboveLimit(ratio(1.16))).toEqual(['a_loaded_ratio'])
  })
})
