import { join } from 'node:path'
import { writeFileWhole } from './write-file.ts'

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
  path: string
  content(): Demo
  /** Adds fields and writes the file. */
  add(fields: Partial<Demo>): void
}

export function openDemoFile(dataDir: string, first: Demo): DemoFile {
  const path = join(dataDir, 'demo.json')
  let demo = first
  const write = () => writeFileWhole(path, `${JSON.stringify(demo, null, 2)}\n`)
  write()
  return {
    path,
    content: () => demo,
    add(fields) {
      demo = { ...demo, ...fields }
      write()
    },
  }
}
