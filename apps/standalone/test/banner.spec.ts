import { describe, expect, it } from '@jest/globals'
import { banner } from '../src/banner.ts'
import { baseUrlOf } from '../src/front-door.ts'

describe('the banner', () => {
  const demo = { base_url: 'http://127.0.0.1:7100', operator_key: 'key' }

  it('shows a line to try, before and after there is a demo application', () => {
    expect(banner(demo, '/data')).toContain('curl http://127.0.0.1:7100/readyz')
    const line = banner({ ...demo, app_id: 'demo', admin_token: 'jwt' }, '/data')
    expect(line).toContain(`-H 'app_id: demo' -H 'access-token: jwt'`)
    expect(line).toContain('http://127.0.0.1:7100/push/notify')
  })

  it('says which vendors are simulated, and how to change that', () => {
    expect(banner(demo, '/data')).toMatch(/vendors +real ones are called/)
    const simulators = { apns: 'https://127.0.0.1:1', flyme: 'http://127.0.0.1:2' }
    expect(banner({ ...demo, simulators }, '/data')).toMatch(
      /vendors +simulated on this machine: apns, flyme; HERALD_SIMULATORS=off calls the real ones/,
    )
  })

  it('says where the console is, and what to sign in with', () => {
    expect(banner(demo, '/data')).toMatch(
      /console +http:\/\/127\.0\.0\.1:7100\/console\/ \(sign in as the operator, with the operator_key of \/data\/demo\.json\)/,
    )
  })

  it('does not show the operator key', () => {
    expect(banner({ ...demo, operator_key: 'hush' }, '/data')).not.toContain('hush')
  })
})

describe('the base address', () => {
  it.each([
    ['127.0.0.1', 'http://127.0.0.1:7100'],
    ['0.0.0.0', 'http://127.0.0.1:7100'],
    ['::', 'http://127.0.0.1:7100'],
    ['::1', 'http://[::1]:7100'],
    ['herald.local', 'http://herald.local:7100'],
  ])('of a listener on %s is %s', (host, url) => expect(baseUrlOf(host, 7100)).toBe(url))
})
