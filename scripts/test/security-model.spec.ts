import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

const root = join(import.meta.dirname, '../..')
const rows = readFileSync(join(root, 'docs/security-model.md'), 'utf8')
  .split('## Threats')[1]!
  .split('\n## ')[0]!
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (threat|---)/.test(line))
  .map((line) => line.split(' | '))

const extensions = ['.spec.ts', '.e2e.ts']

describe('the table of threats', () => {
  it('lists at least one spec per threat, and only existing specs', () => {
    expect(rows.length).toBeGreaterThan(20)
    for (const [threat, , specs] of rows) {
      const names = [...specs!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)
      expect([threat, names.length > 0]).toEqual([threat, true])
      // A bare name is in the folder of the spec before it, or in that of the API.
      let folder = 'apps/api/test'
      for (const name of names) {
        const path = name.includes('/') ? name : `${folder}/${name}`
        if (name.includes('/')) folder = name.slice(0, name.lastIndexOf('/'))
        const found = [...extensions, '.ts'].some((extension) => existsSync(join(root, path + extension)))
        const atApi = extensions.some((extension) =>
          existsSync(join(root, `apps/api/test/${name}${extension}`)),
        )
        expect([threat, name, found || atApi]).toEqual([threat, name, true])
      }
    }
  })
})
