import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { banner } from '../src/banner.ts'
import { writeJsonFile } from '../src/json-file.ts'

describe('the banner', () => {
  const demo = { base_url: 'http://127.0.0.1:7100', operator_key: 'key' }

  it('shows a command to try, with and without a demo application', () => {
    expect(banner(demo, '/data')).toContain('curl http://127.0.0.1:7100/readyz')
    const line = banner({ ...demo, app_id: 'demo', admin_token: 'jwt' }, '/data')
    expect(line).toContain(`-H 'app_id: demo' -H "access-token: $(`)
    expect(line).not.toContain('jwt')
    expect(line).toContain('http://127.0.0.1:7100/push/notify')
  })

  it('reads the token of its command from demo.json', () => {
    const dataDir = mkdtempSync(join(tmpdir(), "herald's banner-"))
    try {
      writeJsonFile(join(dataDir, 'demo.json'), { ...demo, admin_token: 'jwt', user: { user_id: 1 } })
      const line = banner({ ...demo, app_id: 'demo', admin_token: 'jwt' }, dataDir)
      const command = /try it +curl (.*)/.exec(line)![1]!
      expect(execFileSync('sh', ['-c', `printf '%s\\n' ${command}`], { encoding: 'utf8' })).toContain(
        'access-token: jwt\n',
      )
    } finally {
      rmSync(dataDir, { recursive: true })
    }
  })

  it('says which vendors are simulated, and how to change that', () => {
    expect(banner(demo, '/data')).toMatch(/vendors +the real vendors are called/)
    const simulators = { apns: 'https://127.0.0.1:1', flyme: 'http://127.0.0.1:2' }
    expect(banner({ ...demo, simulators }, '/data')).toMatch(
      /vendors +simulated on this machine: apns, flyme; HERALD_SIMULATORS=off calls the real vendors/,
    )
  })

  it('says where the console is and how to sign in', () => {
    expect(banner(demo, '/data')).toMatch(
      /console +http:\/\/127\.0\.0\.1:7100\/console\/ \(sign in as operator with the operator_key in \/data\/demo\.json\)/,
    )
  })

  it('does not show the operator key', () => {
    expect(banner({ ...demo, operator_key: 'hush' }, '/data')).not.toContain('hush')
  })
})
