import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { nodeBinary } from './install.mjs'
import { runWithProgress } from './progress.mjs'

const schemaFile = (root) => join(root, 'prisma', 'schema.prisma')
const targetOf = (root) => join(root, 'packages', 'db', 'src', 'generated')

export function isGenerated(root) {
  const stamp = join(targetOf(root), '.stamp')
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === stampOf(root)
}

function stampOf(root) {
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules/prisma/package.json'), 'utf8'))
  return createHash('sha256')
    .update(readFileSync(schemaFile(root)))
    .update(version)
    .digest('hex')
}

export async function generatePrismaClient(root, lock) {
  const target = targetOf(root)
  // Generated in another folder and renamed together with its stamp, so that a killed run leaves the old client or none.
  const work = join(root, 'node_modules', '.herald-prisma')
  const client = join(work, 'client')
  rmSync(work, { recursive: true, force: true })
  mkdirSync(work)
  const copy = join(work, 'schema.prisma')
  writeFileSync(
    copy,
    readFileSync(schemaFile(root), 'utf8').replace(/(\boutput\s*=\s*)"[^"]*"/, '$1"./client"'),
  )
  const node = nodeBinary(root)
  await runWithProgress(
    'generating the Prisma client',
    node,
    [join(root, 'node_modules/prisma/build/index.js'), 'generate', `--schema=${copy}`],
    {
      cwd: root,
      onSpawn: lock.addOwner,
      // Generating needs no schema engine, but Prisma downloads one unless this names an existing program.
      env: {
        ...process.env,
        PRISMA_SCHEMA_ENGINE_BINARY: node,
        CHECKPOINT_DISABLE: '1',
        PRISMA_HIDE_UPDATE_MESSAGE: '1',
      },
    },
  )
  writeFileSync(join(client, '.stamp'), stampOf(root))
  rmSync(target, { recursive: true, force: true })
  mkdirSync(dirname(target), { recursive: true })
  renameSync(client, target)
  rmSync(work, { recursive: true })
}
