import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { readAdvisories, unacceptable } from '../advisories.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

const advisory = (id: string, name: string, severity: string) => ({
  source: 1,
  name,
  title: `a problem of ${name}`,
  url: `https://advisories.example/${id}`,
  severity,
})
/** As `npm audit --json` prints it: a package is listed with its own advisories and with the names of affected dependencies. */
const report = JSON.stringify({
  auditReportVersion: 2,
  vulnerabilities: {
    a: {
      severity: 'critical',
      via: [advisory('GHSA-1', 'a', 'critical'), advisory('GHSA-2', 'a', 'moderate')],
    },
    b: { severity: 'critical', via: ['a', advisory('GHSA-3', 'b', 'high')] },
  },
})

describe('the audit of production dependencies', () => {
  it('fails for advisories of severity high and critical that are not accepted', () => {
    const found = readAdvisories(report)!
    expect(found.map(({ id }) => id)).toEqual(['GHSA-1', 'GHSA-2', 'GHSA-3'])
    expect(unacceptable(found, []).map(({ id }) => id)).toEqual(['GHSA-1', 'GHSA-3'])
    expect(unacceptable(found, ['GHSA-1']).map(({ id }) => id)).toEqual(['GHSA-3'])
    expect(unacceptable(found, ['GHSA-1', 'GHSA-3'])).toEqual([])
  })

  it('passes without an answer of the registry', () => {
    for (const output of [
      '',
      'npm error network',
      '{"message":"405 Method Not Allowed","statusCode":405,"error":{"summary":"","detail":""}}',
    ])
      expect(readAdvisories(output)).toBeUndefined()
    expect(readAdvisories('{"auditReportVersion":2,"vulnerabilities":{}}')).toEqual([])
  })

  it('runs in CI, and every accepted advisory is explained', () => {
    expect(read('.ci/run')).toMatch(/^npm run check:audit$/m)
    const accepted: string[] = JSON.parse(read('.ci/accepted-advisories.json'))
    const explained = [...read('docs/dependencies.md').matchAll(/^- `(GHSA-[\w-]+)`/gm)].map(([, id]) => id)
    expect(explained.sort()).toEqual(accepted.sort())
  })
})
