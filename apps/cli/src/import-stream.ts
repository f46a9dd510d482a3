import { constants, type FileHandle, open } from 'node:fs/promises'
import { CliFailure } from './failure.ts'
import { fromCaller } from './shell.ts'

const CHUNK = 256 * 1024
const NEWLINE = 10

export type LineSource = {
  /** Bytes in the file; undefined for stdin. */
  size: number | undefined
  chunks: AsyncIterable<Uint8Array>
  close(): Promise<void>
}

/** Opens the file before the first request, so that a wrong name fails at once. `-` is stdin. */
export async function openLines(path: string): Promise<LineSource> {
  if (path === '-') return { size: undefined, chunks: process.stdin, close: async () => {} }
  let file: FileHandle | undefined
  try {
    file = await open(fromCaller(path), constants.O_RDONLY)
    const stat = await file.stat()
    if (stat.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' })
    const reading = file
    return {
      size: stat.isFile() ? stat.size : undefined,
      chunks: reading.createReadStream({ highWaterMark: CHUNK, autoClose: false }),
      close: () => reading.close(),
    }
  } catch (error) {
    await file?.close()
    throw new CliFailure(`${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`)
  }
}

/** Passes chunks on and reports the progress in bytes and lines after each. */
export async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  report: (bytes: number, lines: number) => void,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  let lines = 0
  for await (const chunk of chunks) {
    yield chunk
    bytes += chunk.length
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) lines++
    report(bytes, lines)
  }
}
