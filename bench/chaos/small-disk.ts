import { execFileSync } from 'node:child_process'
import { mkdirSync, statfsSync } from 'node:fs'

/** A file system whose size can be reduced to what it contains. */
export type SmallDisk = {
  path: string
  /** Leaves a few free pages only. */
  shrink(): void
  grow(): void
  unmount(): void
}

const SIZE_BYTES = 16 * 1024 ** 3
/** Shrinking below what is used fails, and Postgres goes on writing at the same time. */
const SPARE_BYTES = 2 * 1024 ** 2

/** Why this machine cannot have one; undefined if it can. */
export function whyNoSmallDisk(): string | undefined {
  if (process.platform !== 'linux') return 'only Linux can change the size of a file system in memory'
  if (process.getuid?.() !== 0) return 'only root may mount a file system'
  return undefined
}

/** Mounts a tmpfs, which needs neither a partition nor a file as large as the disk. */
export function mountSmallDisk(path: string, owner: { uid: number; gid: number }): SmallDisk {
  const mount = (...args: string[]) =>
    execFileSync('mount', [...args, path], { stdio: ['ignore', 'ignore', 'pipe'] })
  mkdirSync(path)
  mount('-t', 'tmpfs', '-o', `size=${SIZE_BYTES},mode=0700,uid=${owner.uid},gid=${owner.gid}`, 'tmpfs')
  return {
    path,
    shrink() {
      const { blocks, bfree, bsize } = statfsSync(path)
      mount('-o', `remount,size=${(blocks - bfree) * bsize + SPARE_BYTES}`)
    },
    grow: () => void mount('-o', `remount,size=${SIZE_BYTES}`),
    unmount: () => void execFileSync('umount', ['-l', path], { stdio: 'ignore' }),
  }
}
