import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stopLeftBehind } from '@herald/embedded'
import { freePort, startApp, until } from '@herald/testkit'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

export type Demo = {
  base_url: string
  app_id: string
  app_secret: string
  admin_token: string
  operator_key: string
  simulators: Record<string, string>
}

/** A page and all it complained of. */
export type Visit = {
  page: Page
  /** Errors in its console, refusals of its policy included. */
  problems: string[]
  /** Answers other than success, as `400 PUT /path`. */
  refusals: string[]
  close(): Promise<void>
}

export type Stage = {
  demo: Demo
  url(path: string): string
  visit(options?: BrowserContextOptions): Promise<Visit>
  /** The interface itself, to hold what a page shows against. */
  call<Data>(path: string, body?: unknown): Promise<Data>
  close(): Promise<void>
}

const built = join(import.meta.dirname, '../dist/index.html')

/** The whole of Herald with its demo, and a real browser. */
export async function openStage(): Promise<Stage> {
  if (!existsSync(built))
    throw new Error('The console is not built: run npm run build --workspace @herald/console.')
  const dataDir = mkdtempSync(join(tmpdir(), 'herald-console-'))
  const port = await freePort()
  const herald = startApp('apps/standalone/src/main.ts', {
    HERALD_PORT: String(port),
    HERALD_DATA_DIR: dataDir,
  })
  const ready = `http://127.0.0.1:${port}/readyz`
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
  await until(async () => (await fetch(ready)).status === 200, { seconds: 120, what: ready })
  const demo: Demo = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'))
  return {
    demo,
    url: (path) => `${demo.base_url}/console${path}`,
    visit: (options) => openVisit(browser, options),
    call: (path, body) => call(demo, path, body),
    async close() {
      await browser.close()
      await herald.stop('SIGTERM')
      await stopLeftBehind(join(dataDir, 'postgres'))
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

async function openVisit(browser: Browser, options?: BrowserContextOptions): Promise<Visit> {
  // Without motion: colours half-way between two schemes have the contrast of neither.
  const context = await browser.newContext({
    locale: 'en-US',
    colorScheme: 'light',
    reducedMotion: 'reduce',
    ...options,
  })
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  const problems: string[] = []
  const refusals: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (line) => {
    // What the API refuses is told twice: here, and with method and path below.
    if (line.type() === 'error' && !line.text().startsWith('Failed to load resource'))
      problems.push(line.text())
  })
  page.on('response', (response) => {
    if (response.status() < 400) return
    refusals.push(`${response.status()} ${response.request().method()} ${new URL(response.url()).pathname}`)
  })
  page.on('request', (request) => {
    const { origin } = new URL(request.url())
    if (page.url().startsWith('http') && origin !== new URL(page.url()).origin)
      problems.push(`The page asked for ${request.url()}.`)
  })
  return { page, problems, refusals, close: () => context.close() }
}

async function call<Data>(demo: Demo, path: string, body?: unknown): Promise<Data> {
  const response = await fetch(demo.base_url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      app_id: demo.app_id,
      'access-token': demo.admin_token,
      'content-type': 'application/json',
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const { code, data, message } = (await response.json()) as { code: number; data: Data; message: string }
  if (code !== 200) throw new Error(`${path}: ${code} ${message}`)
  return data
}
