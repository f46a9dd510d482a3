import { readSettings } from '@herald/settings'
import { describe, expect, it } from '@jest/globals'
import { findPlace, type Place, type PlaceFlags } from '../src/place.ts'

const demo = {
  base_url: 'http://127.0.0.1:7100',
  operator_key: 'demo-operator',
  app_id: 'demo-app',
  app_secret: 'demo-secret',
}
const place = (flags: PlaceFlags, env: Record<string, string> = {}, known: typeof demo | undefined = demo) =>
  findPlace(flags, readSettings(env).settings, known)

describe('where Herald is and who calls', () => {
  it.each<[string, PlaceFlags, Record<string, string>, Partial<Place>]>([
    [
      'the demo fills in',
      {},
      {},
      { baseUrl: demo.base_url, appId: 'demo-app', appSecret: 'demo-secret', operatorKey: 'demo-operator' },
    ],
    [
      'the environment wins over the demo',
      {},
      { HERALD_APP_ID: 'a', HERALD_APP_SECRET: 's' },
      { appId: 'a', appSecret: 's' },
    ],
    [
      'flags win over the environment',
      { app: 'b', secret: 't' },
      { HERALD_APP_ID: 'a', HERALD_APP_SECRET: 's' },
      { appId: 'b', appSecret: 't' },
    ],
    [
      'the demo’s secret goes with no other application',
      { app: 'b' },
      {},
      { appId: 'b', appSecret: undefined },
    ],
    [
      'the demo’s keys go to no other server',
      { url: 'https://push.example.com/' },
      {},
      { baseUrl: 'https://push.example.com', appId: undefined, appSecret: undefined, operatorKey: undefined },
    ],
    [
      'HERALD_URL may name the demo itself',
      {},
      { HERALD_URL: `${demo.base_url}/` },
      { baseUrl: demo.base_url, appId: 'demo-app' },
    ],
  ])('%s', (_name, flags, env, expected) => {
    expect(place(flags, env)).toMatchObject(expected)
  })

  it('falls back to the address of the settings', () => {
    const alone = (env: Record<string, string>) =>
      findPlace({}, readSettings(env).settings, undefined).baseUrl
    expect(alone({})).toBe('http://127.0.0.1:7100')
    expect(alone({ HERALD_HOST: '0.0.0.0', HERALD_PORT: '81' })).toBe('http://127.0.0.1:81')
    expect(alone({ HERALD_HOST: '::1' })).toBe('http://[::1]:7100')
  })
})
