import { jest } from '@jest/globals'
import { createProgram } from '../src/program.ts'
import { captured } from './captured.ts'

export type RanHere = {
  stdout: string
  stderr: string
  /** What the command threw. */
  error: unknown
  /** The calls except the login. */
  calls: { path: string; body: string }[]
}

/** Runs a command in this process. `answer` returns the data of a response or a Response, or throws as fetch would. */
export async function runHere(
  args: string[],
  answer: (path: string, body: string) => unknown = () => ({}),
): Promise<RanHere> {
  const calls: RanHere['calls'] = []
  let error: unknown
  const spy = jest
    .spyOn(globalThis, 'fetch')
    .mockImplementation(async (url: unknown, init?: { body?: unknown }) => {
      const path = new URL(String(url)).pathname
      if (path === '/token/admin') return respond({ token: 't' })
      const body = String(init?.body ?? '')
      calls.push({ path, body })
      const data = answer(path, body)
      return data instanceof Response ? data : respond(data)
    })
  const access = ['--url', 'http://herald.test', '--app', 'a', '--secret', 's', '--data-dir', '/nonexistent']
  const output = await captured(async () => {
    try {
      await createProgram().parseAsync([...args, ...access], { from: 'user' })
    } catch (thrown) {
      error = thrown
    }
  }).finally(() => spy.mockRestore())
  return { ...output, error, calls }
}

const respond = (data: unknown) => new Response(JSON.stringify({ code: 200, data, message: null }))
