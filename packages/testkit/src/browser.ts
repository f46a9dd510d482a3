import type { describe } from '@jest/globals'
import { type Browser, chromium } from 'playwright-core'
import { describeWith, findProgram } from './programs.ts'

/** Both are Chromium. The first has no code for windows and takes less CPU time. */
const browsers = ['chromium-headless-shell', 'chromium'] as const

const browser = browsers.find(findProgram) ?? browsers[0]

/** `describe` for suites that need a browser. */
export const describeInBrowser: typeof describe.skip = describeWith(browser)

/** Pages live for seconds: compiling their functions for speed costs more CPU time than it saves. */
export const startBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: findProgram(browser)!,
    args: ['--no-sandbox', '--js-flags=--no-opt --no-maglev'],
  })
