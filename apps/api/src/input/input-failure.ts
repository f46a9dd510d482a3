import type { z } from 'zod'
import { type Code, Failure } from '../codes.ts'

type Issue = z.core.$ZodIssue

/** Unknown fields first: after a typo in a name, the other problems mislead. */
const order: Code[] = [40001, 40003, 40004, 40002]

/** Returns one failure for an invalid input: its most telling problem, with the path of the field. */
export function inputFailure(issues: readonly Issue[], inQuery = false): Failure {
  const problems = issues.map((issue) => (inQuery ? queryProblemOf(issue) : problemOf(issue)))
  problems.sort((a, b) => order.indexOf(a.code) - order.indexOf(b.code))
  const { code, sentence } = problems[0]!
  return new Failure(code, sentence)
}

function queryProblemOf(issue: Issue): Problem {
  if (issue.code !== 'unrecognized_keys') return problemOf(issue)
  return { code: 40002, sentence: `${quoted(issue.keys[0]!)} is not a query parameter of this call.` }
}

type Problem = { code: Code; sentence: string }

function problemOf(issue: Issue): Problem {
  const path = pathText(issue.path)
  if (issue.code === 'unrecognized_keys') {
    const where = path === '' ? 'the body' : path
    return { code: 40001, sentence: `${quoted(issue.keys[0]!)} is not a field of ${where}.` }
  }
  if (path === '' && issue.code === 'invalid_type')
    return { code: 40001, sentence: 'The body must be a JSON object.' }
  const code = (issue.code === 'custom' && (issue.params?.code as Code | undefined)) || 40002
  return { code, sentence: `${path === '' ? 'The body' : path} ${complaint(issue)}.` }
}

const kinds: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
}

function complaint(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.message.endsWith('received undefined')) return 'is required'
      // `integer` has its own message.
      return issue.message.startsWith('must')
        ? issue.message
        : `must be ${kinds[issue.expected] ?? issue.expected}`
    case 'too_big':
      return limit(issue.origin, issue.maximum, 'at most')
    case 'too_small':
      return limit(issue.origin, issue.minimum, 'at least')
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`
    case 'custom':
    case 'invalid_format':
      return issue.message
    default:
      return 'has the wrong shape'
  }
}

function limit(origin: string, bound: number | bigint, word: string): string {
  if (origin === 'string') return `must have ${word} ${bound} characters`
  if (origin === 'array') return `must have ${word} ${bound} items`
  return `must be ${word} ${bound}`
}

function pathText(path: readonly PropertyKey[]): string {
  let text = ''
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`
    else text += text === '' ? String(part) : `.${String(part)}`
  }
  return text
}

/** Quotes a caller's text for a message: shortened, and in quotation marks unless it reads as a name. */
export function quoted(text: string): string {
  const short = text.length <= 100 ? text : `${text.slice(0, 100)}…`
  return /^\w[\w.[\]…-]*$/.test(short) ? short : JSON.stringify(short)
}

/** Puts the path of the field in front of an adapter's complaint about its token. */
export function tokenProblem(path: string, problem: string): string {
  const name = 'device_token'
  return problem.startsWith(name) ? `${path}${problem.slice(name.length)}` : `${path}: ${problem}`
}
