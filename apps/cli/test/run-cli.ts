import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { waitSeconds } from '@herald/testkit'
import { runCommand } from '../src/run-command.ts'
import { captured } from './captured.ts'

export type Ran = { code: number; stdout: string; stderr: string }

const root = join(import.meta.dirname, '../../..')

/** Runs the program with the given environment and only PATH and HOME of ours. */
export function runCli(
  args: string[],
  options: { env?: Record<string, string>; input?: string } = {},
): Promise<Ran> {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, [join(root, 'apps/cli/src/herald.ts'), ...args], {
    cwd: root,
    env: {
      PATH,
      HOME,
      NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/herald-compiled'),
      ...options.env,
    },
    // A command that hangs must not outlive the spec.
    timeout: waitSeconds * 1000,
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  child.stdin.on('error', () => {})
  child.stdin.end(options.input ?? '')
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code: code ?? -1, stdout, stderr }))
  })
}

let before: Promise<unknown> = Promise.resolve()

/** The same without a process of its own, and without stdin. Commands run one after the other, because they share stdout. */
export function runInProcess(args: string[], env: Record<string, string>): Promise<Ran> {
  const ran = before.then(async (): Promise<Ran> => {
    const own = process.env
    process.env = { PATH: own.PATH, HOME: own.HOME, ...env }
    let code = -1
    const output = await captured(async () => {
      code = await runCommand(args)
    }).finally(() => {
      process.env = own
    })
    return { code, ...output }
  })
  before = ran.catch(() => {})
  return ran
}

/** Parses every line of stdout as JSON. */
export const records = ({ stdout }: Ran) =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
