import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { adapters } from '@herald/channels/all'
import { publicName, vendorChannels } from '@herald/domain'
import { readSettings } from '@herald/settings'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { demoCertificate, keepDemoCredentials } from '../src/demo/credentials.ts'
import { demoDevices } from '../src/demo/devices.ts'
import { publicUrlOf, simulatedChannels, startSimulators } from '../src/demo/simulators.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'herald-simulators-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

const settingsOf = (env: Record<string, string> = {}) => readSettings(env).settings

describe('the credentials of the demo', () => {
  it('are readable only by their owner, and completed when a later version needs more', async () => {
    const first = await keepDemoCredentials(dataDir)
    const path = join(dataDir, 'demo-credentials.json')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(await keepDemoCredentials(dataDir)).toEqual(first)

    const { honor: _, ...older } = JSON.parse(readFileSync(path, 'utf8'))
    writeFileSync(path, JSON.stringify(older))
    const completed = await keepDemoCredentials(dataDir)
    expect(completed).toMatchObject(older)
    expect(await keepDemoCredentials(dataDir)).toEqual(completed)
  })

  it('are reported in one sentence when they cannot be read', async () => {
    writeFileSync(join(dataDir, 'demo-credentials.json'), '{')
    await expect(keepDemoCredentials(dataDir)).rejects.toThrow(
      /demo-credentials\.json contains the keys of the demo and cannot be read/,
    )
  })

  it('are valid for every vendor’s adapter', async () => {
    const credentials = await keepDemoCredentials(dataDir)
    for (const channel of vendorChannels) {
      const adapter = adapters[channel]!
      const certificate = {
        ...demoCertificate(channel, credentials),
        id: 1,
        name: 'demo',
        application: 'demo',
        channel,
        environment: 'production' as const,
      }
      expect(adapter.defaultClass(adapter.readSettings(certificate))).toBe('service')
    }
  })
})

describe('the devices of the demo', () => {
  it('have distinct tokens in their vendor’s format, at least one per vendor, and one device has none', () => {
    const devices = demoDevices(7n, vendorChannels)
    const bindings = devices.flatMap((device) => device.bindings)
    for (const { channel, token } of bindings) expect(adapters[channel]!.checkToken(token)).toBeUndefined()
    expect(new Set(bindings.map(({ token }) => token)).size).toBe(bindings.length)
    expect(new Set(bindings.map(({ channel }) => channel))).toEqual(new Set(vendorChannels))
    expect(devices.filter((device) => device.bindings.length === 0)).toHaveLength(1)
  })

  it('are left out when no simulator serves them', () => {
    const guids = demoDevices(7n, ['fcm']).map(({ guid, bindings }) => [guid, bindings.length])
    expect(guids).toEqual([
      ['demo-pixel', 1],
      ['demo-several', 1],
      ['demo-native', 0],
    ])
  })
})

describe('the simulators', () => {
  it('replace every vendor whose URL is not set', () => {
    expect(simulatedChannels(settingsOf())).toEqual([...vendorChannels])
    expect(simulatedChannels(settingsOf({ HERALD_SIMULATORS: 'off' }))).toEqual([])
    const env = { HERALD_APNS_SANDBOX_URL: 'https://apple.test', HERALD_MEIZU_URL: 'https://meizu.test' }
    const real = ['apns', 'meizu']
    expect(simulatedChannels(settingsOf(env))).toEqual(vendorChannels.filter((name) => !real.includes(name)))
  })

  it('replace vendor URLs in the settings and keep the ones that were set', async () => {
    const given = {
      ...settingsOf({ HERALD_VIVO_URL: 'https://vivo.test', HERALD_PROXY: 'http://proxy.test:3128' }),
      vendorCa: 'OWN CA',
    }
    const simulation = await startSimulators(given, await keepDemoCredentials(dataDir))
    try {
      const { vendorUrls, vendorCa, proxy } = simulation.settings
      const real = Object.entries(vendorUrls).filter(([, url]) => !url.includes('//127.0.0.1:'))
      expect(real).toEqual([['vivo', 'https://vivo.test']])
      expect(Object.keys(simulation.urls).sort()).toEqual(
        vendorChannels
          .map(publicName)
          .filter((name) => name !== 'vivo')
          .sort(),
      )
      expect(vendorCa).toMatch(/^OWN CA\n/)
      expect(vendorCa?.match(/BEGIN CERTIFICATE/g)).toHaveLength(3)
      // A real vendor may be behind the proxy.
      expect(proxy).toBe('http://proxy.test:3128')
    } finally {
      await simulation.close()
    }
  })

  it('send receipts to this machine, to which real vendors do not', () => {
    const own = 'http://127.0.0.1:7100'
    expect(publicUrlOf(settingsOf({}), own)).toBe(own)
    expect(publicUrlOf(settingsOf({ HERALD_SIMULATORS: 'off' }), own)).toBeUndefined()
    const given = { HERALD_PUBLIC_URL: 'https://push.test', HERALD_SIMULATORS: 'off' }
    expect(publicUrlOf(settingsOf(given), own)).toBe('https://push.test')
  })

  it('change nothing when they are off', async () => {
    const given = settingsOf({ HERALD_SIMULATORS: 'off' })
    const simulation = await startSimulators(given, await keepDemoCredentials(dataDir))
    expect(simulation).toMatchObject({ channels: [], urls: {}, settings: given })
    await simulation.close()
  })
})
