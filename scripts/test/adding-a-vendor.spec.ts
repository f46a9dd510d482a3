import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { stopLeftBehind } from '@herald/embedded'
import { freePort, type RunningProcess, startProcess, until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

/** The new files of the recipe in docs/adding-a-vendor.md, for a made-up vendor. */
const acme = join(import.meta.dirname, 'acme')
const root = join(import.meta.dirname, '../..')
const tsc = 'node_modules/typescript/lib/tsc.js'
const skipped = new Set(['node_modules', 'dist', 'test'])

let copy: string
let dataDir: string
let herald: RunningProcess | undefined

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'herald-acme-'))
  dataDir = join(copy, '.herald')
  for (const name of ['packages', 'apps', 'bench', 'scripts', 'prisma', 'package.json', 'tsconfig.json'])
    cpSync(join(root, name), join(copy, name), {
      recursive: true,
      filter: (path) => !skipped.has(basename(path)),
    })
  cpSync(acme, copy, { recursive: true })
  addToList(join(copy, 'packages/channels/src/cards.ts'))
  linkModules()
})
afterAll(async () => {
  await herald?.stop('SIGTERM')
  if (existsSync(dataDir)) await stopLeftBehind(join(dataDir, 'postgres'))
  rmSync(copy, { recursive: true, force: true })
})

/** The only existing source that the recipe changes. */
function addToList(path: string): void {
  const text = readFileSync(path, 'utf8')
  const listed = text.replace(/(const cards = \[[^\]]*)\]/, '$1, acme]')
  writeFileSync(path, `import { card as acme } from './acme/card.ts'\n${listed}`)
}

/** The dependencies of this tree, but the packages of the copy. */
function linkModules(): void {
  const modules = join(copy, 'node_modules')
  mkdirSync(join(modules, '@herald'), { recursive: true })
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '@herald') symlinkSync(join(root, 'node_modules', name), join(modules, name))
  for (const kind of ['packages', 'apps'])
    for (const name of readdirSync(join(copy, kind)))
      symlinkSync(join(copy, kind, name), join(modules, '@herald', name))
}

async function run(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: copy,
    maxBuffer: 1 << 24,
  }).catch((error: { stdout: string; stderr: string }) => {
    throw new Error(error.stdout + error.stderr)
  })
  return stdout
}

describe('a vendor that follows docs/adding-a-vendor.md', () => {
  it('needs no other change, says the type check', async () => {
    expect(await run(tsc, '--singleThreaded', '-p', 'tsconfig.json')).toBe('')
  })

  it('has flags on the command line', async () => {
    const help = await run('apps/cli/src/herald.ts', 'certificate', 'set', 'acme', '--help')
    expect(help).toContain('Save the credentials of Acme')
    expect(help).toMatch(/--rocket-key <text> +rocket key, under Keys in the Acme console/)
    expect(help).toContain('certificate set acme --app-id 7 --rocket-key-file secret.txt')
  })

  it('has a form and message fields in the console', async () => {
    const printed = await run(
      '--input-type=module',
      '--eval',
      `import { vendorForms } from './apps/console/src/pages/certificates/vendor-forms.ts'
       import { platforms } from './apps/console/src/pages/send/platform-fields.ts'
       console.log(JSON.stringify({ forms: vendorForms, platforms }))`,
    )
    const { forms, platforms } = JSON.parse(printed)
    const form = forms.find(({ channel }: { channel: string }) => channel === 'acme')
    expect(form.fields.map(({ to }: { to: string }) => to)).toEqual(['app_id', 'app_secret', 'extra.fuse'])
    expect(JSON.stringify(platforms)).toContain('Fuse')
  })

  it('gets its pushes, and is part of the API', async () => {
    const port = await freePort()
    const base = `http://127.0.0.1:${port}`
    const started = startProcess(process.execPath, ['apps/standalone/src/main.ts'], {
      cwd: copy,
      env: { HERALD_PORT: String(port), HERALD_DATA_DIR: dataDir },
    })
    herald = started
    const isReady = async () => (await fetch(`${base}/readyz`).catch(() => undefined))?.status === 200
    await Promise.race([
      until(isReady, { what: `${base}/readyz` }),
      started.exited.then(() => Promise.reject(new Error(started.output()))),
    ])
    const demo = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'))
    const call = async (path: string, body: object) => {
      const headers = { app_id: demo.app_id, 'access-token': demo.admin_token }
      const response = await fetch(base + path, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      const { code, data, message } = (await response.json()) as ReturnType<JSON['parse']>
      if (code !== 200) throw new Error(`${path}: ${message}`)
      return data
    }
    const { list } = await call('/admin/device/list', { device_guid: 'demo-acme' })
    expect(list[0].bindings).toMatchObject([{ provider: 9, channel: 'acme' }])
    const { task_id } = await call('/push/notify', {
      audience: { push_token: [list[0].push_token] },
      setting: { distribution_strategy: 'ospush_only', ospush_sequence: ['acme'] },
      message: { title: 'Boom', body: 'Stand back', acme: { fuse: 'long' } },
    })
    const ledger = `${demo.simulators.acme}/_sim/ledger?task_id=${task_id}`
    await until(async () => ((await (await fetch(ledger)).json()) as { distinct: number }).distinct === 1, {
      what: 'the push to be delivered',
    })
    await until(async () => (await call('/push/task/detail', { list: [task_id] }))[0].acme_sent === 1, {
      what: 'the push to be counted',
    })
    const document = JSON.stringify(await (await fetch(`${base}/openapi.json`)).json())
    expect(document).toContain('Length of the fuse.')
  })
})
