import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs'

/** Writes a file that only its owner may read; readers see the old content or the new one, also after a power cut. */
export function writeFileWhole(path: string, text: string): void {
  const work = `${path}.${process.pid}.new`
  const file = openSync(work, 'w', 0o600)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(work, path)
}
