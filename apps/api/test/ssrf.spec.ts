import { createServer, type Server } from 'node:http'
import { CertificateProblem } from '@herald/channels'
import { adapters } from '@herald/channels/all'
import { isPublicAddress } from '@herald/outbound'
import { closeServer, listen } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createAttachmentProbe } from '../src/notify/attachment-probe.ts'

const PRIVATE = 'must not point to a private address'

describe('an address that callers may choose', () => {
  it.each([
    '8.8.8.8',
    '1.1.1.1',
    '172.15.255.255',
    '172.32.0.1',
    '100.63.255.255',
    '2606:4700::1111',
    '2a00:1450::1',
  ])('%s is public', (address) => expect(isPublicAddress(address)).toBe(true))
  it.each([
    ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.255.255.254', '169.254.169.254', '172.16.0.1'],
    ...['172.31.255.255', '192.0.0.1', '192.168.1.1', '198.18.0.1', '224.0.0.1', '255.255.255.255'],
    ...[
      '::',
      '::1',
      '::ffff:127.0.0.1',
      '::ffff:8.8.8.8',
      '::127.0.0.1',
      'fe80::1',
      'fc00::1',
      'fd12::1',
      'ff02::1',
    ],
    ...[
      '64:ff9b::7f00:1',
      '64:ff9b:1::1',
      '2002:7f00:1::',
      '2001::1',
      '2001:db8::1',
      '100::1',
      'not an address',
      '',
    ],
  ])('%s is not', (address) => expect(isPublicAddress(address)).toBe(false))
})

describe('probing a picture at an address of the caller’s choice', () => {
  const written = [
    ...['http://127.0.0.1/x.png', 'http://127.1/x.png', 'http://2130706433/x.png', 'http://0x7f000001/x.png'],
    ...['http://017700000001/x.png', 'http://0x7f.0.0.1/x.png', 'http://0/x.png', 'http://0.0.0.0/x.png'],
    ...['http://①②⑦.⓪.⓪.①/x.png', 'http://127。0。0。1/x.png', 'http://user:password@127.0.0.1/x.png'],
    ...[
      'http://8.8.8.8@127.0.0.1/x.png',
      'http://localhost/x.png',
      'http://LOCALHOST/x.png',
      'http://[::1]/x.png',
    ],
    ...['http://[::]/x.png', 'http://[::ffff:127.0.0.1]/x.png', 'http://[::ffff:7f00:1]/x.png'],
    ...['http://[64:ff9b::7f00:1]/x.png', 'http://[fe80::1]/x.png', 'http://[fd00::1]/x.png'],
    ...[
      'http://169.254.169.254/latest/meta-data.png',
      'http://2852039166/x.png',
      'http://[::ffff:a9fe:a9fe]/x.png',
    ],
    ...['https://10.0.0.1/x.png', 'https://192.168.0.1:8443/x.png'],
  ]
  it.each(written)('never calls %s', async (url) => {
    const asked: string[] = []
    const probe = createAttachmentProbe({
      resolveName: async (host) => {
        asked.push(host)
        return ['127.0.0.1']
      },
      limitMs: 30_000,
    })
    expect(await probe(url)).toBe(PRIVATE)
  })

  describe('behind a name', () => {
    let server: Server
    let port: number
    const heard: string[] = []
    beforeAll(async () => {
      server = createServer((request, response) => {
        heard.push(String(request.headers.host))
        if (request.url === '/away.png')
          response.writeHead(302, { location: `http://inside.test:${port}/x.png` }).end()
        else response.writeHead(200, { 'content-length': 10 }).end()
      })
      port = await listen(server)
    })
    afterAll(() => closeServer(server))
    /** Here 127.0.0.1 is a public address and 127.0.0.2 a private one. */
    const probeWith = (resolveName: (host: string) => Promise<string[]>) =>
      createAttachmentProbe({ mayCall: (address) => address === '127.0.0.1', resolveName, limitMs: 30_000 })

    it('calls the address that was checked, although the name resolves differently a moment later', async () => {
      let asked = 0
      const probe = probeWith(async () => (asked++ === 0 ? ['127.0.0.1'] : ['127.0.0.2']))
      expect(await probe(`http://rebinding.test:${port}/x.png`)).toBeUndefined()
      expect(asked).toBe(1)
      expect(heard.at(-1)).toBe(`rebinding.test:${port}`)
    })

    it('refuses a name one of whose addresses is private', async () => {
      const before = heard.length
      const probe = probeWith(async () => ['127.0.0.1', '127.0.0.2'])
      expect(await probe(`http://both.test:${port}/x.png`)).toBe(PRIVATE)
      expect(await probeWith(async () => [])(`http://none.test:${port}/x.png`)).toBe(PRIVATE)
      expect(heard.length).toBe(before)
    })

    it('checks where it is redirected to', async () => {
      const names: Record<string, string[]> = { 'outside.test': ['127.0.0.1'], 'inside.test': ['127.0.0.2'] }
      const before = heard.length
      expect(await probeWith(async (host) => names[host] ?? [])(`http://outside.test:${port}/away.png`)).toBe(
        PRIVATE,
      )
      expect(heard.slice(before)).toEqual([`outside.test:${port}`])
    })
  })
})

describe('a service-account file of FCM', () => {
  const account = (token_uri: unknown) =>
    adapters.fcm!.readSettings({
      id: 1,
      application: 'a',
      channel: 'fcm',
      environment: 'production',
      name: '',
      appId: '',
      appKey: '',
      appSecret: '',
      certificate: JSON.stringify({
        type: 'service_account',
        project_id: 'p',
        private_key: 'none',
        client_email: 'a@b.c',
        token_uri,
      }),
      extra: {},
    })
  it.each([
    'http://169.254.169.254/token',
    'http://oauth2.googleapis.com/token',
    'https://oauth2.googleapis.com.evil.example/token',
    'https://oauth2.googleapis.com@evil.example/token',
    'https://evil.example/https://oauth2.googleapis.com/token',
    'https://oauth2.googleapis.com/token/../../x',
    'https://OAUTH2.googleapis.com:8443/token',
    'file:///etc/passwd',
    '',
    7,
    ['https://oauth2.googleapis.com/token'],
    { toString: 'https://oauth2.googleapis.com/token' },
  ])('cannot make us request an access token from %j', (uri) => {
    expect(() => account(uri)).toThrow(CertificateProblem)
    expect(() => account(uri)).toThrow(/token_uri/)
  })
})
