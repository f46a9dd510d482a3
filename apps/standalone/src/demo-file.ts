import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Demo } from '@herald/settings'
import { writeJsonFile } from './json-file.ts'

export type DemoFile = {
  content(): Demo
  /** Adds fields, also to the file if it is written already. */
  add(fields: Partial<Demo>): void
  write(): void
}

/** Removes the file of an earlier run, so that a program that waits for the file gets the complete new one. */
export function openDemoFile(dataDir: string, first: Demo): DemoFile {
  const path = join(dataDir, 'demo.json')
  let demo = first
  let written = false
  rmSync(path, { force: true })
  const write = () => {
    writeJsonFile(path, demo)
    written = true
  }
  return {
    content: () => demo,
    add(fields) {
      demo = { ...demo, ...fields }
      if (written) write()
    },
    write,
  }
}
