import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'

const run = promisify(execFile)
const project = join(import.meta.dirname, '..')
const tsc = join(project, '../../node_modules/typescript/lib/tsc.js')
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'herald-build-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('builds modules and types that need no other package', async () => {
  // Where npm install would link the folder.
  await run(process.execPath, [join(project, 'build.mjs'), join(folder, 'node_modules/@herald/client')])
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(
    join(folder, 'use.ts'),
    `import { HeraldServer, type VendorFields } from '@herald/client'
     import { connectDevice } from '@herald/client/device'
     const fields: VendorFields<'huawei'> = { importance: 'HIGH' }
     // @ts-expect-error unresolved types would accept anything
     const wrong: VendorFields<'huawei'> = { importance: 'highest' }
     console.log(typeof HeraldServer, typeof connectDevice, fields, wrong)`,
  )
  const flags = '--ignoreConfig --strict --module nodenext --target es2022 --lib es2024,dom'
  await run(process.execPath, [tsc, 'use.ts', ...flags.split(' ')], { cwd: folder })
  const { stdout } = await run(process.execPath, [join(folder, 'use.js')])
  expect(stdout).toContain('function function')
})
