import { describe, expect, it } from '@jest/globals'
import { loadedParts, parts, readOptions, usage } from '../options.ts'

describe('the options of the benchmark', () => {
  it('are a full run by default', () => {
    expect(readOptions([])).toEqual({ options: { loaded: false, quick: false } })
  })

  it('select a size and a part', () => {
    expect(readOptions(['--quick', '--only=accept-list'])).toEqual({
      options: { loaded: false, quick: true, only: 'accept-list' },
    })
    expect(readOptions(['--loaded', '--only', 'end-to-end'])).toEqual({
      options: { loaded: true, scale: 'full', only: 'end-to-end' },
    })
    expect(readOptions(['--loaded', '--small'])).toEqual({ options: { loaded: true, scale: 'small' } })
    expect(readOptions(['--loaded', '--quick'])).toEqual({ options: { loaded: true, scale: 'quick' } })
    expect(readOptions(['--loaded', '--quick', '--load=days', '--only=first-look'])).toEqual({
      options: { loaded: true, scale: 'quick', load: 'days', only: 'first-look' },
    })
    expect(readOptions(['--loaded', '--rounds=4'])).toEqual({
      options: { loaded: true, scale: 'full', rounds: 4 },
    })
  })

  it('ask for help, which names every option and part', () => {
    expect(readOptions(['--help'])).toEqual({ help: true })
    for (const option of [
      '--quick',
      '--only',
      '--loaded',
      '--small',
      '--load=days',
      '--load=rows',
      '--rounds',
    ])
      expect(usage).toContain(`  ${option}`)
    for (const [name, about] of [...Object.entries(parts), ...Object.entries(loadedParts)])
      expect(usage).toContain(`    ${name.padEnd(18)}  ${about}\n`)
  })

  it.each([
    [['--quik'], '--quik'],
    [['accept'], 'accept'],
    [['--only'], '--only'],
    [['--only=acept'], 'There is no part "acept"; the parts are http2, accept, '],
    [['--only=toString'], 'There is no part "toString"'],
    // A part of the other kind of run.
    [['--only=end-to-end'], 'There is no part "end-to-end"; '],
    [
      ['--loaded', '--only=http2'],
      'There is no part "http2" of --loaded; the parts are first-look, accept, end-to-end, ',
    ],
    [['--small'], '--small needs --loaded.'],
    [['--load=days'], '--load needs --loaded.'],
    [['--rounds=3'], '--rounds needs --loaded.'],
    [['--loaded', '--rounds=0'], '--rounds is a number from 1 to 99.'],
    [['--loaded', '--load=all'], '--load is days or rows.'],
    [['--loaded', '--small', '--load=rows'], '--small and --load exclude each other.'],
    [['--loaded', '--small', '--quick'], '--small and --quick exclude each other.'],
  ])('refuse %j with a sentence', (args, sentence) => {
    const read = readOptions(args)
    expect('refusal' in read && read.refusal).toContain(sentence)
  })
})
