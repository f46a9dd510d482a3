import { describe, expect, it } from '@jest/globals'
import { createLogger } from '../src/index.ts'

function logged(work: (logger: ReturnType<typeof createLogger>) => void, level = 'info') {
  const lines: string[] = []
  work(createLogger({ name: 'spec', level, destination: { write: (line: string) => void lines.push(line) } }))
  return lines.map((line) => JSON.parse(line))
}

describe('createLogger', () => {
  it('writes one line of JSON with name, level and time', () => {
    const [line] = logged((logger) => logger.info({ task: 7 }, 'planned'))
    expect(line).toMatchObject({
      name: 'spec',
      level: 'info',
      task: 7,
      msg: 'planned',
      time: expect.stringMatching(/Z$/),
    })
  })

  it('is silent below its level', () => {
    expect(logged((logger) => logger.debug('detail'))).toEqual([])
  })

  it.each([
    'token',
    'device_token',
    'deviceToken',
    'push_token',
    'tokens',
    'access-token',
    'password',
    'passphrase',
    'app_secret',
    'appSecret',
    'authorization',
    'certificate',
    'masterKey',
    'private_key',
    'cookie',
  ])('hides the value of %s at any depth', (name) => {
    const text = JSON.stringify(
      logged((logger) =>
        logger
          .child({ part: 'a', [name]: 'hush' })
          .info({ x: { [name]: 'hush' }, a: [{ b: { [name]: 'hush' } }] }),
      ),
    )
    expect(text).not.toContain('hush')
    expect(text.match(/\[hidden\]/g)).toHaveLength(3)
  })

  it('hides values beyond the maximum depth', () => {
    let deep: object = { password: 'hush' }
    for (let level = 0; level < 20; level++) deep = { deep }
    expect(JSON.stringify(logged((logger) => logger.info({ deep })))).not.toContain('hush')
  })

  it('keeps fields whose names only resemble a secret', () => {
    const [line] = logged((logger) =>
      logger.info({ task_id: 1, tokenCount: 3, url: 'http://host:80', mail: 'a@b' }),
    )
    expect(line).toMatchObject({ task_id: 1, tokenCount: 3, url: 'http://host:80', mail: 'a@b' })
  })

  it('hides passwords in URLs, also in errors', () => {
    const text = JSON.stringify(
      logged((logger) => {
        logger.info({ url: 'redis://user:hush@host:6379/0' })
        logger.error({
          err: Object.assign(new Error('no way to postgres://u:hush@host/db'), {
            config: { password: 'hush' },
          }),
        })
        logger.error({ error: new Error('sent Authorization: Bearer hush.hush') })
      }),
    )
    expect(text).not.toContain('hush')
    expect(text).toContain('redis://user:[hidden]@host:6379/0')
  })

  it('omits fields in which Postgres quotes the refused row', () => {
    const error = Object.assign(new Error('duplicate key value violates unique constraint "binding_token"'), {
      code: '23505',
      detail: 'Key (token, channel)=(hush, huawei) already exists.',
      where: 'COPY binding, line 1, column token: "hush"',
      internalQuery: `SELECT 'hush'`,
    })
    const text = JSON.stringify(logged((logger) => logger.error({ err: error })))
    expect(text).not.toContain('hush')
    expect(text).toContain('23505')
  })

  it('keeps type, stack and plain fields of an error', () => {
    const error = Object.assign(new RangeError('too far'), {
      code: '57P01',
      client: { socket: {} },
      password: 'hush',
    })
    const [line] = logged((logger) => logger.error({ err: error }))
    expect(line.err).toMatchObject({ code: '57P01', password: '[hidden]' })
    expect(line.err).not.toHaveProperty('client')
    expect(line.err).toMatchObject({
      type: 'RangeError',
      message: 'too far',
      stack: expect.stringContaining('logger.spec'),
    })
  })
})
