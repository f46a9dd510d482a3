import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { stopLeftBehind } from '@herald/embedded'
import { type Demo, readDemo } from '@herald/settings'
import { freePort, type RunningProcess, startApp, until } from '@herald/testkit'
import { fillDataDirectory } from '@herald/testkit/data-directory'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

// Runs the commands of the guides as they stand, in order, against one standalone.

const root = join(import.meta.dirname, '../../..')
let folder: string
let dataDir: string
let herald: RunningProcess
let demo: Demo

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'herald-guides-'))
  dataDir = join(folder, 'data')
  await fillDataDirectory(dataDir)
  herald = startApp('apps/standalone/src/main.ts', {
    HERALD_PORT: String(await freePort()),
    HERALD_DATA_DIR: dataDir,
  })
  // As in a clone: the data directory .herald, and `npm run herald`.
  symlinkSync(dataDir, join(folder, '.herald'))
  const script = `"${process.execPath}" "${join(root, 'apps/cli/src/herald.ts')}"`
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, scripts: { herald: script } }))
  await herald.prints(/Herald is ready at/)
  demo = readDemo(dataDir)!
})
afterAll(async () => {
  await herald.stop()
  await stopLeftBehind(join(dataDir, 'postgres'))
  rmSync(folder, { recursive: true, force: true })
})

/** The shell blocks of a guide, except the start of the standalone. */
function blocksOf(guide: string): string[] {
  const text = readFileSync(join(root, 'docs', guide), 'utf8')
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)]
    .map(([, block]) => block!)
    .filter((block) => block.trim() !== 'npm start')
}

const BETWEEN = '--- next block ---'

/** Runs blocks in one shell and returns what each of them printed. */
async function run(blocks: string[], env: Record<string, string> = {}): Promise<string[]> {
  const { HOME = '', PATH = '' } = process.env
  const script = `set -e\n${blocks.join(`\necho\necho '${BETWEEN}'\n`)}`
  const output = await new Promise<string>((resolve, reject) => {
    execFile(
      'bash',
      ['-c', script],
      {
        cwd: folder,
        timeout: 550_000,
        env: { HOME, PATH: `${dirname(process.execPath)}:${PATH}`, HERALD_DATA_DIR: dataDir, ...env },
      },
      (error, stdout, stderr) =>
        error ? reject(new Error(`${error.message}\n${stdout}\n${stderr}`)) : resolve(stdout),
    )
  })
  return output.split(BETWEEN).map((part) => part.trim())
}

/** Every printed answer of the API, and their data. */
const answersOf = (outputs: string[]) =>
  outputs.flatMap((output) =>
    output
      .split(/\n|(?<=\})(?=\{"code")/)
      .filter((line) => line.startsWith('{"code"'))
      .map(
        (line) => JSON.parse(line) as { code: number; data: Record<string, unknown>; message: string | null },
      ),
  )

async function call<Data>(
  path: string,
  as: { app_id: string; token: string },
  body?: unknown,
): Promise<Data> {
  const response = await fetch(demo.base_url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { app_id: as.app_id, 'access-token': as.token, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  return ((await response.json()) as { data: Data }).data
}

describe('docs/getting-started.md', () => {
  it('runs as written, and a push to the own application arrives', async () => {
    const blocks = blocksOf('getting-started.md')
    const arrive = blocks.findIndex((block) => block.includes('/push/task/detail'))
    expect(arrive).toBeGreaterThan(0)
    // The reader waits a second; the spec waits for the receipt.
    const waiting = `for i in $(seq 600); do
      api /push/task/detail -d "{\\"list\\":[$TASK_ID]}" | grep -q '"xiaomi_received":1' && break; sleep 0.1; done`
    const outputs = await run([...blocks.slice(0, arrive), waiting, ...blocks.slice(arrive)])
    const answers = answersOf(outputs)
    expect(answers.length).toBeGreaterThan(8)
    expect(answers.filter(({ code }) => code !== 200)).toEqual([])
    const [counters] = answersOf([outputs[arrive + 1]!])[0]!.data as unknown as Record<string, number>[]
    expect(counters).toMatchObject({ xiaomi_target: 1, xiaomi_sent: 1, xiaomi_received: 1 })
    const [logout, removal, erasure] = answers.filter(
      ({ data }) => 'created' in data || data.removed === true || 'devices' in data,
    )
    expect([logout, removal, erasure].map((answer) => answer?.data)).toEqual([
      expect.objectContaining({ created: false }),
      { removed: true },
      { devices: 0 },
    ])
  }, 600_000)
})

describe('docs/migrating.md', () => {
  const asDemo = () => ({ app_id: demo.app_id!, token: demo.admin_token! })
  type Device = { device_guid: string; alias: string; tags: string[]; bindings: { channel: string }[] }

  it('runs as written: every example imports what it says', async () => {
    const { app_id, token } = asDemo()
    const env = { BASE_URL: demo.base_url, APP_ID: app_id, TOKEN: token }
    const blocks = blocksOf('migrating.md')
    const outputs = await run(
      // A command that reports refused lines ends with 1.
      blocks.map((block) => (block.includes('not-a-token') ? `(${block}) || true` : block)),
      env,
    )
    const text = outputs.join('\n')
    const documented = [
      ...readFileSync(join(root, 'docs/migrating.md'), 'utf8').matchAll(
        /^(\{"code":200,"data":\{"lines".*)$/gm,
      ),
    ]
    expect(documented.length).toBeGreaterThan(0)
    for (const [, answer] of documented) expect(text).toContain(answer)

    const find = async (alias: string) =>
      (await call<{ list: Device[] }>('/admin/device/list', asDemo(), { alias })).list
    const onesignal = await find('customer-41')
    // Two lines of an import may be written by different writers, in any order.
    expect(new Map(onesignal.map(({ tags, bindings }) => [bindings[0]?.channel, tags]))).toEqual(
      new Map([
        ['apns', ['city:Shenzhen, Nanshan', 'plan:gold']],
        ['fcm', ['plan:free']],
      ]),
    )
    expect(text).toMatch(/Skipped, unsubscribed: 1 row\./)
    const pinpoint = await find('customer-61')
    expect(new Map(pinpoint.map(({ tags, bindings }) => [bindings[0]?.channel, tags]))).toEqual(
      new Map([
        ['apns', ['plan:gold']],
        ['fcm', []],
      ]),
    )
    const jpush = await find('customer-51')
    expect(jpush.map(({ tags, bindings }) => [tags, bindings[0]?.channel])).toEqual([[['vip'], 'vivo']])
  }, 600_000)

  it('has calls that the API accepts', async () => {
    const page = readFileSync(join(root, 'docs/migrating.md'), 'utf8')
    const bodies = [...page.matchAll(/(\{"audience":.*?"message": ?\{.*?\}\})(?=[`\n])/gs)].map(
      ([, body]) => body!,
    )
    expect(bodies.length).toBeGreaterThan(1)
    for (const body of bodies) {
      const answer = await call<{ task_id: number }>('/push/notify', asDemo(), JSON.parse(body))
      expect([body, answer]).toEqual([body, { task_id: expect.any(Number) }])
    }
    await until(
      async () => (await call<{ list: unknown[] }>('/push/task/list', asDemo(), {})).list.length > 0,
    )
  })
})
