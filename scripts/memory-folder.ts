import { accessSync, constants, statfsSync } from 'node:fs'

const GIB = 2 ** 30
/** Far more than a run of all specs uses, which is below 1 GiB. */
const MIN_BYTES = 8 * GIB

/**
 * A folder in memory for temporary files, if the machine has one and memory to spare. Specs create and remove thousands of files, mostly
 * those of databases, which is slow on a disk: ten API spec files took a fifth longer there.
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
