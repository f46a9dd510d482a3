import { accessSync, constants, statfsSync } from 'node:fs'

const GIB = 2 ** 30
/** A run of all specs uses at most a quarter of this. */
const MIN_BYTES = 8 * GIB

/**
 * A folder in memory for temporary files, if the machine has one and memory to spare. Specs create and remove thousands of files, mostly
 * those of databases, which costs a fifth of the time of a run on a disk.
 */
export function memoryFolder(path = '/dev/shm', minBytes = MIN_BYTES): string | undefined {
  try {
    accessSync(path, constants.W_OK)
    const { bavail, bsize } = statfsSync(path)
    return Math.min(bavail * bsize, process.availableMemory()) >= minBytes ? path : undefined
  } catch {
    // There is none, as on macOS and Windows.
    return undefined
  }
}
