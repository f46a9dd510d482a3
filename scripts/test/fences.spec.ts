import { describe, expect, it } from '@jest/globals'
import { findCycles, findViolations } from '../fences/rules.ts'
import { readSource } from '../fences/source-files.ts'

const violations = (path: string, text: string) => findViolations([readSource(path, text)])

describe('import fences', () => {
  it.each([
    ['packages/domain/src/a.ts', `import { x } from '@herald/settings'`, 'nothing of ours'],
    ['packages/settings/src/a.ts', `import { x } from '@herald/domain'`, 'nothing of ours'],
    ['packages/telemetry/src/a.ts', `import { x } from '@herald/settings'`, 'nothing of ours'],
    ['packages/http2/src/a.ts', `import { x } from '@herald/domain'`, 'may import async'],
    ['packages/embedded/src/a.ts', `import { x } from '@herald/settings'`, 'may import async'],
    ['packages/client/src/a.ts', `import type { X } from '@herald/domain'`, 'nothing of ours'],
    ['packages/db/src/a.ts', `import { x } from '@herald/queue'`, 'may import async, domain'],
    ['packages/queue/src/a.ts', `export * from '@herald/db/store'`, 'may import async, domain'],
    [
      'packages/channels/src/fcm/a.ts',
      `import { x } from '@herald/db/store'`,
      'may import async, domain, http2',
    ],
    ['packages/channels/src/fcm/a.ts', `import { x } from '../apns/payload.ts'`, 'never imports another'],
    ['packages/worker/src/a.ts', `import { x } from '@herald/embedded'`, 'packages/worker may import'],
    ['packages/worker/src/a.ts', `import { adapters } from '@herald/channels'`, 'may import only types'],
    ['apps/api/src/a.ts', `import { x } from '@herald/planner'`, 'only apps/standalone may'],
    ['apps/api/src/a.ts', `import { x } from '@herald/testkit'`, 'only specs and bench may'],
    ['packages/domain/src/a.ts', `import { x } from '@herald/client/device'`, 'nothing of ours'],
    ['packages/db/src/a.ts', `const x = await import('@herald/testkit')`, 'only specs and bench may'],
    [
      'apps/api/src/a.ts',
      `import { x } from '../../../packages/db/src/tasks/claim.ts'`,
      'by a relative path',
    ],
    ['packages/db/src/store/a.ts', `import { x } from '../tasks/b.ts'`, 'store comes before it'],
    ['packages/db/src/store/a.ts', `import { x } from '../history/b.ts'`, 'store comes before it'],
    ['packages/db/src/new/a.ts', `import { x } from '../store/b.ts'`, 'folderOrder does not list'],
    ['apps/console/src/pages/a/b.tsx', `import { x } from '../../app/c.ts'`, 'pages comes before it'],
    ['packages/simulators/src/a.ts', `import { x } from '@herald/channels'`, 'may import async'],
    ['apps/worker-fcm/src/a.ts', `import { x } from '@herald/simulators'`, 'only apps/standalone'],
    ['apps/worker-fcm/src/a.ts', `import { adapter } from '@herald/channels/apns'`, 'only its own vendor'],
    ['packages/worker/src/a.ts', `import { Worker } from 'bullmq'`, 'imports bullmq'],
    ['apps/api/src/a.ts', `import { PrismaPg } from '@prisma/adapter-pg'`, 'imports Prisma'],
    ['apps/planner/test/a.spec.ts', `import pg from 'pg'`, 'imports pg'],
    ['apps/api/src/a.ts', 'const port = process.env.HERALD_PORT', 'reads process.env'],
    ['apps/api/src/a.ts', 'const { env } = process', 'reads process.env'],
    ['apps/api/src/a.ts', `import { env } from 'node:process'`, 'reads process.env'],
  ])('%s may not: %s', (path, text, reason) => {
    expect(violations(path, text)).toEqual([expect.stringContaining(reason)])
  })

  it.each([
    ['packages/db/src/a.ts', `import { PrismaPg } from '@prisma/adapter-pg'\nimport pg from 'pg'`],
    ['packages/queue/src/a.ts', `import { Queue } from 'bullmq'\nimport { x } from '@herald/domain'`],
    [
      'packages/channels/src/fcm/a.ts',
      `import { x } from '../shared/http.ts'\nimport { y } from '../channel.ts'`,
    ],
    ['packages/channels/src/all.ts', `import { cards } from './cards.ts'`],
    ['packages/worker/src/a.ts', `import type { ChannelAdapter } from '@herald/channels'`],
    ['apps/worker-fcm/src/a.ts', `import { adapter } from '@herald/channels/fcm'`],
    ['packages/testkit/src/a.ts', `import { x } from '@herald/db/store'\nconst ci = process.env.CI`],
    ['apps/standalone/src/a.ts', `import { api } from '@herald/api'`],
    ['apps/console/src/a.tsx', `import { x } from '@herald/client/device'`],
    ['apps/api/test/a.spec.ts', `import { x } from '@herald/testkit'\nconst ci = process.env.CI`],
    [
      'apps/api/src/a.ts',
      `// import 'bullmq' and process.env are words here\nconst s = "import 'bullmq'; process.env"`,
    ],
    ['packages/settings/src/a.ts', 'export const read = (env = process.env) => env'],
  ])('%s may: %s', (path, text) => {
    expect(violations(path, text)).toEqual([])
  })
})

describe('circular imports', () => {
  const cycles = (sources: Record<string, string>) =>
    findCycles(Object.entries(sources).map(([path, text]) => readSource(path, text)))

  it('are reported once', () => {
    expect(
      cycles({
        'packages/db/src/a.ts': `import './b.ts'`,
        'packages/db/src/b.ts': `export * from './deep/c.ts'`,
        'packages/db/src/deep/c.ts': `const a = import('../a.ts')`,
      }),
    ).toEqual([
      'circular import: packages/db/src/a.ts → packages/db/src/b.ts → packages/db/src/deep/c.ts → packages/db/src/a.ts',
    ])
  })

  it('are found through the entry of a package', () => {
    expect(
      cycles({
        'packages/db/src/tasks/index.ts': `export { a } from './a.ts'`,
        'packages/db/src/tasks/a.ts': `import { a } from '@herald/db/tasks'`,
      }),
    ).toHaveLength(1)
  })

  it('are not two paths to the same file', () => {
    expect(
      cycles({
        'packages/db/src/a.ts': `import './b.ts'\nimport './c.ts'`,
        'packages/db/src/b.ts': `import './c.ts'`,
        'packages/db/src/c.ts': 'export const c = 1',
      }),
    ).toEqual([])
  })
})
