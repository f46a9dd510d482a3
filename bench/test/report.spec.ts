import { describe, expect, it } from '@jest/globals'
import { cpuPerItem, type Metrics, totalCpuPerItem } from '../metric.ts'
import { type Report, type Stamp, withFigures, withRatios } from '../report.ts'

const stamp = (commit: string): Stamp => ({ machine: 'm', date: '2026-01-01', commit, quick: false })
const metrics = (...names: string[]): Metrics =>
  Object.fromEntries(names.map((name) => [name, { value: 1, unit: 'times', note: '' }]))

describe('the report', () => {
  it('keeps the ratios of a loaded database and their run when the other figures are taken again', () => {
    const before = withRatios(undefined, stamp('old'), metrics('a_loaded_ratio'))
    const after = withFigures(before, stamp('new'), metrics('a'))
    expect(after).toEqual({ ...stamp('new'), loaded: stamp('old'), metrics: metrics('a', 'a_loaded_ratio') })
  })

  it('keeps the other figures and their run when the ratios are taken again, and forgets ratios that no longer exist', () => {
    const before: Report = { ...stamp('old'), metrics: metrics('a', 'gone_loaded_ratio') }
    const after = withRatios(before, stamp('new'), metrics('a_loaded_ratio'))
    expect(after).toEqual({ ...stamp('old'), loaded: stamp('new'), metrics: metrics('a', 'a_loaded_ratio') })
  })

  it('forgets figures that no longer exist', () => {
    const before: Report = { ...stamp('old'), metrics: metrics('gone') }
    expect(withFigures(before, stamp('new'), metrics('a')).metrics).toEqual(metrics('a'))
  })
})

describe('CPU time per item', () => {
  const before = new Map([
    ['api', 1],
    ['postgres', 2],
  ])
  const after = new Map([
    ['api', 1.5],
    ['postgres', 3],
    ['redis', 0.25],
  ])

  it('is the difference of each process by the number of items', () => {
    expect(cpuPerItem(before, after, 10_000)).toBe('CPU time per item (µs): api 50, postgres 100, redis 25')
  })

  it('adds up over all processes', () => {
    expect(totalCpuPerItem(before, after, 10_000)).toBe(175)
  })
})
