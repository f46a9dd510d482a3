import { describe, expect, it } from '@jest/globals'
import { parseYaml, read } from './deployed-programs.ts'

const flagIn = (text: string) => /--max-semi-space-size=\d+/.exec(text)?.[0]

describe('memory flags', () => {
  it('are the same for the API wherever it is started', () => {
    const started = flagIn(JSON.parse(read('apps/api/package.json')).scripts.start)
    expect(started).toBeDefined()
    expect(parseYaml('docker-compose.yml').services.api.environment.NODE_OPTIONS).toBe(started)
    expect(flagIn(read('deploy/kubernetes/base/api.yaml'))).toBe(started)
    for (const page of ['docs/deployment.md', 'docs/zh/deployment.md'])
      expect(read(page)).toContain(`echo "NODE_OPTIONS=${started}" >> /etc/herald/api.env`)
    expect(flagIn(/apiMemoryFlags = .*/.exec(read('bench/pipeline/deployment.ts'))![0])).toBe(started)
  })

  it('are the same for the other programs in the image and in their unit', () => {
    const started = flagIn(JSON.parse(read('apps/planner/package.json')).scripts.start)
    expect(started).toBeDefined()
    for (const file of ['deploy/Dockerfile', 'deploy/systemd/herald@.service'])
      expect(read(file)).toContain(`NODE_OPTIONS=${started}`)
  })
})
