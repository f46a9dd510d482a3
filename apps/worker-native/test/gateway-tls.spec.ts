import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority } from '@herald/simulators/authority'
import { afterAll, describe, expect, it } from '@jest/globals'
import { watchRenewal } from '../src/gateway-tls.ts'

describe('the TLS certificate of the gateway', () => {
  const folder = mkdtempSync(join(tmpdir(), 'herald-renewal-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  it('is loaded again after it has changed; one that cannot be loaded is reported once, and the former one stays', () => {
    const authority = createAuthority('Test authority')
    const issue = () => authority.issue({ subject: { CN: 'gateway' }, hosts: ['127.0.0.1'] })
    const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
    let version = 0
    const store = ({ cert, key }: { cert: string; key: string }) => {
      writeFileSync(files.cert, cert)
      writeFileSync(files.key, key)
      version++
      for (const file of Object.values(files)) utimesSync(file, version, version)
    }
    const first = issue()
    store(first)
    const server = createServer(first)
    const loaded: string[] = []
    const setSecureContext: typeof server.setSecureContext = (options) => {
      server.setSecureContext(options)
      loaded.push(String(options.cert))
    }
    const warnings: object[] = []
    const check = watchRenewal({ setSecureContext }, files, {
      warn: (fields: object) => void warnings.push(fields),
    } as never)

    check()
    expect(loaded).toEqual([])

    store({ cert: issue().cert, key: first.key })
    check()
    expect(warnings).toEqual([])
    check()
    check()
    expect(loaded).toEqual([])
    expect(warnings).toEqual([{ ...files, problem: expect.stringContaining('mismatch') }])

    const renewed = issue()
    store(renewed)
    check()
    check()
    expect(loaded).toEqual([renewed.cert])
    expect(warnings).toHaveLength(1)
  })
})
