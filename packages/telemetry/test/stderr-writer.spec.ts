import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it, jest } from '@jest/globals'
import { createLineWriter } from '../src/stderr-writer.ts'

const busy = () => {
  throw Object.assign(new Error('EAGAIN'), { code: 'EAGAIN' })
}

/** A reader that takes `room` bytes in all. */
function reader(room: number) {
  const taken: Buffer[] = []
  return {
    text: () => Buffer.concat(taken).toString(),
    allow(bytes: number) {
      room += bytes
    },
    write(bytes: Buffer) {
      if (room === 0) busy()
      const part = bytes.subarray(0, room)
      taken.push(Buffer.from(part))
      room -= part.length
      return part.length
    },
  }
}

describe('a line writer', () => {
  it('writes a line before it returns', () => {
    const { text, write } = reader(100)
    createLineWriter(write, String).write('one\n')
    expect(text()).toBe('one\n')
  })

  it('gathers lines that may wait until the turn ends, or until one may not', async () => {
    const calls: string[] = []
    const write = (bytes: Buffer) => calls.push(bytes.toString()) && bytes.length
    const lines = createLineWriter(write, String)
    lines.write('one\n', true)
    lines.write('two\n', true)
    expect(calls).toEqual([])
    await new Promise(setImmediate)
    expect(calls).toEqual(['one\ntwo\n'])
    lines.write('three\n', true)
    lines.write('four\n')
    expect(calls.slice(1)).toEqual(['three\n', 'four\n'])
    lines.write('five\n', true)
    lines.flush(0)
    await new Promise(setImmediate)
    expect(calls.slice(3)).toEqual(['five\n'])
  })

  it('gathers a bounded amount, and counts each dropped line', () => {
    const { text, write, allow } = reader(0)
    const lines = createLineWriter(write, (count) => `${count} dropped\n`)
    for (let line = 0; line < 500; line++) lines.write(`${'x'.repeat(9_999)}\n`, true)
    allow(10_000_000)
    lines.flush(0)
    const written = text().split('\n')
    expect(written.slice(0, -2).length + Number.parseInt(written.at(-2)!, 10)).toBe(500)
    expect(written.at(-2)).toMatch(/^\d+ dropped$/)
  })

  it('keeps the order and the rest of a line that was taken in parts', async () => {
    jest.useFakeTimers()
    try {
      const { text, write, allow } = reader(2)
      const lines = createLineWriter(write, String)
      for (const line of ['one\n', 'two\n', 'three\n']) lines.write(line)
      expect(text()).toBe('on')
      allow(3)
      await jest.advanceTimersByTimeAsync(100)
      expect(text()).toBe('one\nt')
      allow(100)
      await jest.advanceTimersByTimeAsync(100)
      expect(text()).toBe('one\ntwo\nthree\n')
      expect(jest.getTimerCount()).toBe(0)
    } finally {
      jest.useRealTimers()
    }
  })

  it('drops lines beyond four megabytes and says how many', () => {
    const { text, write, allow } = reader(0)
    const lines = createLineWriter(write, (count) => `${count} dropped\n`)
    for (let line = 0; line < 50; line++) lines.write(`${'x'.repeat(99_999)}\n`)
    allow(10_000_000)
    lines.flush(0)
    const written = text().split('\n')
    expect(written.slice(0, -2).length).toBe(41)
    expect(written.at(-2)).toBe('9 dropped')
  })

  it('drops lines whose reader has gone', () => {
    const lines = createLineWriter(() => {
      throw Object.assign(new Error('EPIPE'), { code: 'EPIPE' })
    }, String)
    expect(() => {
      lines.write('one\n')
      lines.flush(0)
    }).not.toThrow()
  })
})

describe('a process whose stderr', () => {
  const logger = JSON.stringify(import.meta.resolve('../src/index.ts'))
  const start = (code: string) =>
    spawn(
      process.execPath,
      ['--input-type=module', '-e', `import { createLogger } from ${logger}\n${code}`],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )

  it('is not read goes on and ends', async () => {
    const child = start(`const log = createLogger({ name: 'spec' })
      for (let line = 0; line < 20_000; line++) log.info({ line }, 'x'.repeat(1000))
      process.stdout.write('done')`)
    child.stderr.pause()
    const [[code], [done]] = await Promise.all([once(child, 'exit'), once(child.stdout, 'data')])
    expect([code, String(done)]).toEqual([0, 'done'])
    child.stderr.destroy()
  })

  it('is read keeps a warning, and the lines before it, when the process is killed', async () => {
    const child = start(`const log = createLogger({ name: 'spec' })
      log.info('before')
      log.warn('last')
      process.kill(process.pid, 'SIGKILL')`)
    let text = ''
    child.stderr.on('data', (part) => {
      text += part
    })
    await once(child, 'close')
    const messages = text.trim().split('\n')
    expect(messages.map((line) => JSON.parse(line).msg)).toEqual(['before', 'last'])
  })

  it('is read keeps the lines before a crash', async () => {
    const child = start(`const log = createLogger({ name: 'spec' })
      for (let line = 0; line < 3_000; line++) log.info({ line }, 'x'.repeat(1000))
      process.on('uncaughtException', () => process.exit(3))
      throw new Error('crash')`)
    let text = ''
    child.stderr.on('data', (part) => {
      text += part
    })
    const [code] = await once(child, 'close')
    expect(code).toBe(3)
    expect(
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).line),
    ).toEqual(Array.from({ length: 3_000 }, (_, line) => line))
  })
})
