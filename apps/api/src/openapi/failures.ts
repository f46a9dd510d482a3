import type { Code } from '../codes.ts'
import type { Access, Route } from '../route.ts'

const always: Code[] = [40002, 50001, 50301]
const ofApplications: Code[] = [40005, 40104, 40302, 40401]

/** Codes of the access checks and rate limits. */
const byAccess: Record<Access, Code[]> = {
  public: [...ofApplications, 42901],
  holder: [...ofApplications, 40102, 40303, 42901],
  user: [...ofApplications, 40101, 40102, 40301, 40303, 42901],
  anyone: [...ofApplications, 40101, 40102, 40303, 42901],
  // Admins have no rate limit; a wrong token or app_id has one.
  admin: [...ofApplications, 40101, 40102, 40301, 40303, 42901],
  owner: [...ofApplications, 40101, 40102, 40301, 40303, 42901, 42902],
  operator: [40101, 40102, 40301, 40303, 42901, 42902],
}

/** Returns all codes that a call can fail with: those of all calls like it, and those of its handler. */
export function failuresOf({ access, method, stream, groupRefused, failures = [] }: Route): Code[] {
  const found = new Set<Code>([...always, ...byAccess[access], ...failures])
  if (groupRefused) found.add(40301)
  if (method !== 'get') found.add(40001)
  if (method !== 'get' && !stream) for (const code of [40801, 41301] as const) found.add(code)
  return [...found].sort()
}
