import { jest } from '@jest/globals'

type Output = { stdout: string; stderr: string }

/** Collects what `work` writes to stdout and stderr, which count as pipes for it: a spec may run in a terminal. */
export async function captured(work: () => Promise<void>): Promise<Output> {
  const stdout = capture(process.stdout)
  const stderr = capture(process.stderr)
  try {
    await work()
  } finally {
    stdout.end()
    stderr.end()
  }
  return { stdout: stdout.text(), stderr: stderr.text() }
}

function capture(stream: NodeJS.WriteStream) {
  const chunks: Buffer[] = []
  const { isTTY } = stream
  stream.isTTY = false
  const spy = jest.spyOn(stream, 'write').mockImplementation((chunk: string | Uint8Array) => {
    chunks.push(Buffer.from(chunk as Uint8Array))
    return true
  })
  return {
    text: () => Buffer.concat(chunks).toString(),
    end() {
      spy.mockRestore()
      stream.isTTY = isTTY
    },
  }
}
