import type { Code } from '../codes.ts'
import type { Access, Route } from '../route.ts'

const always: Code[] = [40002, 50001, 50301]
const ofApplications: Code[] = [40005, 40104, 40302, 40401]

/** What the gate and the limits of callers answer with. */
const byAccess: Record<Access, Code[]> = {
  public: [...ofApplications, 42901],
  holder: [...ofApplications, 40102, 40303, 42901],
  user: [...ofApplications, 40101, 40102, 40301, 40303, 42901],
  anyone: [...ofApplications, 40101, 40102, 40303, 42901],
  // Admins are never limited.
  admin: [...ofApplications, 40101, 40102, 40301, 40303],
  operator: [40101, 40102, 40301, 40303],
}

/** Every code that a call can answer with: what the rim says to all calls like it, and what its handler adds. */
export function failuresOf({ access, method, stream, groupRefused, failures = [] }: Route): Code[] {
  const found = new Set<Code>([...always, ...byAccess[access], ...failures])
  if (groupRefused) found.add(40301)
  if (method !== 'get') found.add(40001)
  if (method !== 'get' && !stream) for (const code of [40801, 41301] as const) found.add(code)
  return [...found].sort()
}
