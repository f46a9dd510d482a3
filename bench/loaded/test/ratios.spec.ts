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

  it('compare each loaded run with the empty one next to it, so that a slow phase of the machine cancels out', () => {
    const round = (factor: number) => ({
      empty: metrics({ push_per_s: [200 * factor, 'requests/s'] }),
      loaded: metrics({ push_per_s: [200 * factor, 'requests/s'] }),
    })
    expect(loadedRatios([round(1), round(0.25)]).push_per_s_loaded_ratio!.value).toBe(1)
  })

  it('are the median of the rounds, in which twice as slow weighs like twice as fast', () => {
    const round = (empty: number, loaded: number) => ({
      empty: metrics({ rss: [empty, 'MB'] }),
      loaded: metrics({ rss: [loaded, 'MB'] }),
    })
    const two = [round(100, 200), round(200, 100)]
    expect(loadedRatios(two).rss_loaded_ratio!.value).toBe(1)
    const { rss_loaded_ratio: ratio } = loadedRatios([...two, round(100, 110)])
    expect(ratio).toEqual({
      value: 1.1,
      unit: 'times',
      note: '110 against 100 MB in an empty database; by round: 2, 0.5, 1.1',
    })
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
    expect(needsAnotherRound([round(115), round(115)], 4)).toBe(false)
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
