/** One value out of the text of INFO. */
export function infoField(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1]
}

/** What an operator should change, from the text of INFO. */
export function complaintsAbout(info: string): string[] {
  const field = (name: string) => infoField(info, name)
  const complaints: string[] = []
  const policy = field('maxmemory_policy')
  if (policy && policy !== 'noeviction') {
    complaints.push(`Redis may drop jobs: maxmemory-policy is ${policy}, set it to noeviction`)
  }
  const version = field('redis_version')
  if (version && Number.parseFloat(version) < 6.2) {
    complaints.push(`Redis ${version} is older than 6.2: update it`)
  }
  return complaints
}
