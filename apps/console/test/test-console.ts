import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stopLeftBehind } from '@herald/embedded'
import { type Demo, readDemo } from '@herald/settings'
import { freePort, startApp, waitSeconds } from '@herald/testkit'
import { startBrowser } from '@herald/testkit/browser'
import { fillDataDirectory } from '@herald/testkit/data-directory'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

/** A browser tab and the errors of its page. */
export type Tab = {
  page: Page
  /** Errors in the browser's console, violations of the content security policy included. */
  errors: string[]
  /** Responses with an error status, as `400 PUT /path`. */
  failedRequests: string[]
  close(): Promise<void>
}

export type TestConsole = {
  demo: Required<Demo>
  url(path: string): string
  /** The address of a page of the demo application. */
  appUrl(path: string): string
  openTab(options?: BrowserContextOptions): Promise<Tab>
  /** Opens a tab in which the operator is signed in. */
  openOperatorTab(): Promise<Tab>
  /** Calls the API directly, to compare with what a page shows. */
  call<Data>(path: string, body?: unknown, method?: string): Promise<Data>
  close(): Promise<void>
}

const built = join(import.meta.dirname, '../dist/index.html')

/** Starts a standalone with its demo, and Chromium. `settings` are environment variables. */
export async function startTestConsole(settings: Record<string, string> = {}): Promise<TestConsole> {
  if (!existsSync(built))
    throw new Error('The console is not built: run npm run build --workspace @herald/console.')
  const dataDir = mkdtempSync(join(tmpdir(), 'herald-console-'))
  await fillDataDirectory(dataDir)
  const port = await freePort()
  const herald = startApp('apps/standalone/src/main.ts', {
    HERALD_PORT: String(port),
    HERALD_DATA_DIR: dataDir,
    ...settings,
  })
  const browser = await startBrowser()
  // The output also says why the program ended, if it did.
  await herald.prints(/Herald is ready at/)
  const demo = readDemo(dataDir) as Required<Demo>
  const url = (path: string) => `${demo.base_url}/console${path}`
  return {
    demo,
    url,
    appUrl: (path) => url(`/a/${demo.app_id}${path}`),
    openTab: (options) => openTab(browser, options),
    async openOperatorTab() {
      const tab = await openTab(browser)
      await tab.page.goto(url('/'))
      await tab.page.getByText('Operator', { exact: true }).click()
      await tab.page.getByLabel('Operator key').fill(demo.operator_key)
      await tab.page.getByRole('button', { name: 'Sign in' }).click()
      await tab.page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
      return tab
    },
    call: (path, body, method) => call(demo, path, body, method),
    async close() {
      await browser.close()
      await herald.stop('SIGTERM')
      await stopLeftBehind(join(dataDir, 'postgres'))
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

async function openTab(browser: Browser, options?: BrowserContextOptions): Promise<Tab> {
  // Without animations: during a change of the colour scheme the contrast is too low.
  const context = await browser.newContext({
    locale: 'en-US',
    colorScheme: 'light',
    reducedMotion: 'reduce',
    ...options,
  })
  const page = await context.newPage()
  page.setDefaultTimeout(waitSeconds * 1000)
  const errors: string[] = []
  const failedRequests: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (line) => {
    // Failed requests are recorded below, with method and path.
    if (line.type() === 'error' && !line.text().startsWith('Failed to load resource'))
      errors.push(line.text())
  })
  page.on('response', (response) => {
    if (response.status() < 400) return
    failedRequests.push(
      `${response.status()} ${response.request().method()} ${new URL(response.url()).pathname}`,
    )
  })
  page.on('request', (request) => {
    const { origin } = new URL(request.url())
    if (page.url().startsWith('http') && origin !== new URL(page.url()).origin)
      errors.push(`The page requested ${request.url()}.`)
  })
  return { page, errors, failedRequests, close: () => context.close() }
}

async function call<Data>(
  demo: Required<Demo>,
  path: string,
  body?: unknown,
  method = body === undefined ? 'GET' : 'POST',
): Promise<Data> {
  const response = await fetch(demo.base_url + path, {
    method,
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
