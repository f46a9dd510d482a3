const KIB = 1024
export const MIB = 1024 * KIB

/** Most bytes of a body whose call says nothing else. */
export const USUAL_BODY = 64 * KIB

/** A limit as people say it. */
export function sizeText(bytes: number): string {
  return bytes < MIB ? `${bytes / KIB} KiB` : `${bytes / MIB} MiB`
}
