import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { codes } from '../src/codes.ts'
import { openApiDocument } from '../src/openapi/document.ts'
import { referencePage } from '../src/openapi/reference-page.ts'
import { routes } from '../src/routes.ts'

describe('docs/api-reference.md', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/api-reference.md'), 'utf8')
  const partOf = (call: string) => page.split(`\n### ${call}\n`)[1]!.split('\n### ')[0]!

  it('is up to date; regenerate it with scripts/write-api-reference.ts', () => {
    expect(page).toBe(referencePage(openApiDocument()))
  })

  it('shows every call and every code', () => {
    for (const { method, path, summary } of routes)
      expect(page).toContain(`### ${method.toUpperCase()} ${path}\n\n**${summary}.**`)
    for (const [code, when] of Object.entries(codes)) expect(page).toContain(`| \`${code}\` | ${when} |`)
  })

  it('lists the fields of objects, lists and alternatives by dotted names', () => {
    for (const field of ['audience.tag', 'setting.ospush_sequence', 'message.vivo.push_mode'])
      expect(page).toContain(`| \`${field}\` |`)
    expect(page).toContain('| `[].nativepush_received` * |')
  })

  it('marks a field of alternatives only if all of them have it', () => {
    for (const field of ['list[].task_id', 'list[].push_token', 'sums', 'device_id'])
      expect(page).toContain(`| \`${field}\` | `)
    const document = openApiDocument()
    const media = { schema: {} as Record<string, unknown> }
    document.paths['/push/task/export']!.get!.responses['200'] = {
      content: { 'application/x-ndjson': media },
    }
    const object = (...names: string[]) => ({
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, { type: 'boolean' }])),
      required: names,
    })
    media.schema = { anyOf: [object('both', 'first'), object('both', 'second'), { type: 'null' }] }
    const rows = ['`both` *', '`first`', '`second`'].map((name) => `| ${name} | boolean |  |`)
    for (const row of rows) expect(referencePage(document)).toContain(row)
  })

  it('lists the values of a field that allows only some numbers', () => {
    expect(page).toContain('| `message.ios.priority` | 10, 5, 1 |')
    expect(page).toContain('| `message.huawei.harmony_push_type` | 0, 2, 6, 10 |')
    expect(page).toContain('| `message.oppo.notify_level` | 1, 2, 16 |')
  })

  it('says which responses are lines without an envelope', () => {
    expect(partOf('GET /push/task/export')).toContain('| Line of the response | type | meaning |')
    expect(partOf('POST /push/task/list')).toContain('| Response (`data`) | type | meaning |')
  })

  it('has no example that ends a token of the others', () => {
    expect(partOf('POST /token/revoke')).toContain('-H "user_id: $OTHER_USER_ID"')
  })

  it('escapes a bar inside a cell', () => {
    const document = openApiDocument()
    document.paths['/token/id']!.post!.parameters.push({
      name: 'either',
      in: 'query',
      schema: { type: 'string', description: 'a | b' },
    })
    expect(referencePage(document)).toContain('| `either` | string | a \\| b |')
  })
})
