import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'

export const root = join(import.meta.dirname, '../..')

export const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** Every program of a deployment: all except the standalone. */
export const programs = globSync('apps/*/src/main.ts', { cwd: root })
  .map((path) => path.split(/[\\/]/)[1]!)
  .filter((name) => name !== 'standalone')
  .sort()

// biome-ignore lint/suspicious/noExplicitAny: configuration files of other programs have no types here
export type Loose = any

export const parseYaml = (path: string): Loose => parse(read(path), { merge: true })

export function parseDocuments(path: string): Loose[] {
  return parseAllDocuments(read(path)).map((document) => {
    if (document.errors.length > 0) throw new Error(`${path}: ${document.errors[0]!.message}`)
    return document.toJS()
  })
}
