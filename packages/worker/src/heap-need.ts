/** Heap of a worker without certificates, with some jobs in memory. */
const BASE_BYTES = 64 * 1024 * 1024
/** Connection, parsed certificate and application: what one certificate in use keeps in the heap. The rest of its memory is outside of it. */
const BYTES_PER_CERTIFICATE = 20 * 1024
/** V8 searches the whole heap for garbage again and again when what is in use is close to its limit. */
const ROOM = 1.5

/** The heap limit that a worker needs to keep connections of this many certificates open, in MB. */
export function heapNeedMb(transports: number): number {
  return Math.ceil(((BASE_BYTES + transports * BYTES_PER_CERTIFICATE) * ROOM) / 1024 / 1024)
}
