import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

const root = join(import.meta.dirname, '../..')

describe('docker-compose.yml', () => {
  it('runs every program but the standalone, which is all of them in one', () => {
    const programs = globSync('apps/*/src/main.ts', { cwd: root }).filter(
      (path) => !path.includes('standalone'),
    )
    const compose = readFileSync(join(root, 'docker-compose.yml'), 'utf8')
    const commands = [...compose.matchAll(/^ {4}command: (apps\/.*)$/gm)].map((match) => match[1])
    expect(commands.sort()).toEqual(programs.sort())
  })

  it('names each service after its program', () => {
    const compose = readFileSync(join(root, 'docker-compose.yml'), 'utf8')
    const services = [
      ...compose.matchAll(/^ {2}(\S+):\n {4}<<: \*herald\n {4}command: apps\/(\S+)\/src\/main\.ts$/gm),
    ]
    expect(services.length).toBeGreaterThan(9)
    for (const [, service, program] of services) expect(service).toBe(program)
  })
})
