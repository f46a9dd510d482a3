/** Returns one field of the text of INFO. */
export function infoField(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1]
}

/** Whether an error says that the server is no longer the master. Redis 6 puts other words before the code when a script wrote. */
export const isDemotion = (message: string) => message.includes('READONLY')

/** Versions below 6.2 lack commands that BullMQ needs. */
export function isOldRedis(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major < 6 || (major === 6 && minor < 2)
}

/** Returns what an operator should change, from the text of INFO. */
export function serverProblems(info: string): string[] {
  const field = (name: string) => infoField(info, name)
  const problems: string[] = []
  const policy = field('maxmemory_policy')
  if (policy && policy !== 'noeviction') {
    problems.push(`Redis may drop jobs: maxmemory-policy is ${policy}, set it to noeviction`)
  }
  const version = field('redis_version')
  if (version && isOldRedis(version)) {
    problems.push(`Redis ${version} is older than 6.2: update it`)
  }
  return problems
}
