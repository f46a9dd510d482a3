import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeJsonFile } from './json-file.ts'

/** What a newcomer needs to try Herald; fields appear with the parts that make them. */
export type Demo = {
  base_url: string
  operator_key: string
  app_id?: string
  app_secret?: string
  admin_token?: string
  user?: { user_id: number; username: string; password: string }
  simulators?: Record<string, string>
}

export type DemoFile = {
  content(): Demo
  /** Adds fields; once the file is written they appear there, too. */
  add(fields: Partial<Demo>): void
  write(): void
}

/** The file of an earlier run goes at once, so that whoever waits for it gets the present one, and complete. */
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
