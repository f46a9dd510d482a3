import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readAdvisories, unacceptable } from './advisories.ts'
import { root } from './run-program.ts'

// Fails if a production dependency has an advisory of severity high or critical that nobody has judged. Without an answer of the
// registry it passes: mirrors often have no advisories, and an outage must not stop every change.
const accepted = JSON.parse(readFileSync(join(root, '.ci/accepted-advisories.json'), 'utf8')) as string[]
const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
  shell: process.platform === 'win32',
})
const advisories = readAdvisories(stdout ?? '')
if (!advisories) console.log('audit: the registry has no advisories or was not reached; nothing was checked')
else {
  for (const { id, severity, package: name, title } of advisories)
    console.log(`audit: ${severity} ${name}: ${title} (${id}${accepted.includes(id) ? ', accepted' : ''})`)
  const bad = unacceptable(advisories, accepted)
  console.log(
    `audit: ${advisories.length} advisories, ${bad.length} to fix or to accept in docs/dependencies.md`,
  )
  if (bad.length > 0) process.exitCode = 1
}
