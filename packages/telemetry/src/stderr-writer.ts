import { writeSync } from 'node:fs'

export type LineWriter = {
  /** Never blocks and never throws. A line that may wait is written with the others of the same turn of the event loop. */
  write(line: string, mayWait?: boolean): void
  /** Writes what is buffered and blocks for up to `ms`: for the end of the process. */
  flush(ms: number): void
}

/** Lines in memory while stderr is not read. */
const MAX_BUFFERED_BYTES = 4 * 1024 * 1024
const RETRY_MS = 50
/** Characters of lines that wait for the end of the turn. */
const MAX_GATHERED = 64 * 1024

/**
 * Writes lines without waiting for the reader: what `write` does not take at once is buffered, and lines beyond the limit are
 * dropped and counted. A line that may not wait is out of the process when the call returns, so even SIGKILL does not lose it. Under
 * load a system call per line costs as much as making the line; 64 pushes of one commit share one.
 * `write` returns the number of bytes it took, and throws EAGAIN if it can take none.
 */
export function createLineWriter(
  write: (bytes: Buffer) => number,
  droppedLine: (count: number) => string,
): LineWriter {
  const buffered: Buffer[] = []
  let bytes = 0
  let dropped = 0
  let timer: NodeJS.Timeout | undefined
  let gathered = ''
  let gatheredLines = 0

  /** Returns the part that was not taken. */
  function send(part: Buffer): Buffer {
    let rest = part
    try {
      while (rest.length > 0) rest = rest.subarray(write(rest))
    } catch (error) {
      // Nobody will read what is left: the reader closed its end.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return Buffer.alloc(0)
    }
    return rest
  }

  function keep(part: Buffer): void {
    buffered.push(part)
    bytes += part.length
  }

  function sendBuffered(): void {
    while (buffered.length > 0) {
      const first = buffered.shift()!
      const rest = send(first)
      bytes -= first.length
      if (rest.length === 0) continue
      buffered.unshift(rest)
      bytes += rest.length
      return
    }
    if (dropped === 0) return
    const note = Buffer.from(droppedLine(dropped))
    dropped = 0
    const rest = send(note)
    if (rest.length > 0) keep(rest)
  }

  function retry(): void {
    if (timer) return
    timer = setTimeout(() => {
      timer = undefined
      sendBuffered()
      if (buffered.length > 0) retry()
    }, RETRY_MS).unref()
  }

  function take(text: string, lines: number): void {
    const part = Buffer.from(text)
    if (buffered.length === 0) {
      const rest = send(part)
      if (rest.length === 0) return
      keep(rest)
    } else if (bytes + part.length > MAX_BUFFERED_BYTES) dropped += lines
    else keep(part)
    retry()
  }

  function takeGathered(): void {
    if (gatheredLines === 0) return
    const [text, lines] = [gathered, gatheredLines]
    gathered = ''
    gatheredLines = 0
    take(text, lines)
  }

  return {
    write(line, mayWait = false) {
      if (!mayWait) {
        takeGathered()
        return take(line, 1)
      }
      if (gatheredLines === 0) setImmediate(takeGathered)
      gathered += line
      gatheredLines++
      if (gathered.length >= MAX_GATHERED) takeGathered()
    },
    flush(ms) {
      takeGathered()
      const until = performance.now() + ms
      const pause = new Int32Array(new SharedArrayBuffer(4))
      sendBuffered()
      while (buffered.length > 0 && performance.now() < until) {
        Atomics.wait(pause, 0, 0, 10)
        sendBuffered()
      }
    },
  }
}

const FLUSH_AT_EXIT_MS = 1_000

let stderr: LineWriter | undefined

/**
 * The writer of stderr, one per process. A pipe whose reader hangs, such as that of a stuck log driver, would otherwise stop the
 * process at its next line.
 */
export function stderrWriter(): LineWriter {
  if (!stderr) {
    // Node puts a pipe or socket into non-blocking mode when it opens the stream. Files and terminals stay blocking.
    void process.stderr
    stderr = createLineWriter(
      (bytes) => writeSync(2, bytes),
      (count) =>
        `${JSON.stringify({
          level: 'warn',
          time: new Date().toISOString(),
          pid: process.pid,
          msg: `${count} log lines were dropped because stderr was not read`,
        })}\n`,
    )
    process.once('exit', () => stderr?.flush(FLUSH_AT_EXIT_MS))
  }
  return stderr
}
