import { describe, expect, it } from '@jest/globals'
import { parseQueueUrl } from '../src/queue-url.ts'

const single = { kind: 'redis', topology: 'single', tls: false, db: 0, prefix: 'herald' }

describe('parseQueueUrl', () => {
  it.each([
    ['redis://localhost', { ...single, hosts: [{ host: 'localhost', port: 6379 }] }],
    ['redis://10.0.0.1:7000/3', { ...single, hosts: [{ host: '10.0.0.1', port: 7000 }], db: 3 }],
    ['redis://[::1]:7000', { ...single, hosts: [{ host: '::1', port: 7000 }] }],
    ['REDIS://h/?prefix=test', { ...single, hosts: [{ host: 'h', port: 6379 }], prefix: 'test' }],
    ['redis://:s%40cret@h', { ...single, hosts: [{ host: 'h', port: 6379 }], password: 's@cret' }],
    [
      'rediss://jane:p:w/d@h:6380',
      { ...single, hosts: [{ host: 'h', port: 6380 }], tls: true, username: 'jane', password: 'p:w/d' },
    ],
    [
      'redis-sentinel://:pw@a,b:26380/primary/2?sentinel_password=other',
      {
        ...single,
        topology: 'sentinel',
        hosts: [
          { host: 'a', port: 26379 },
          { host: 'b', port: 26380 },
        ],
        password: 'pw',
        db: 2,
        sentinel: { name: 'primary', password: 'other' },
      },
    ],
    [
      'rediss-cluster://a:7000,b:7001?prefix=blue',
      {
        ...single,
        topology: 'cluster',
        tls: true,
        hosts: [
          { host: 'a', port: 7000 },
          { host: 'b', port: 7001 },
        ],
        prefix: 'blue',
      },
    ],
    ['postgres://u:p@h:5432/d', { kind: 'postgres', url: 'postgres://u:p@h:5432/d' }],
    ['postgresql://h/d?sslmode=require', { kind: 'postgres', url: 'postgresql://h/d?sslmode=require' }],
  ])('reads %s', (text, address) => {
    expect(parseQueueUrl(text)).toEqual(address)
  })

  it.each([
    ['', /must begin with redis:\/\//],
    ['localhost:6379', /must begin with redis:\/\//],
    ['http://secret@h', /must begin with redis:\/\//],
    ['redis://', /needs a host/],
    ['redis://:secret@', /needs a host/],
    ['redis://h:99999', /invalid port/],
    ['redis://h:port', /needs a host/],
    ['redis://a,b', /several hosts need redis-sentinel:\/\//],
    ['redis://h/zero', /database number/],
    ['redis://h/0/1', /database number/],
    ['redis://h?prefx=a', /unknown parameter "prefx"/],
    ['redis://h?prefix={a}', /prefix of the queue address/],
    ['redis://:secret%zz@h', /password of the queue address/],
    ['redis-sentinel://a,b', /no name of the Sentinel master/],
    ['redis-sentinel://a,b/', /no name of the Sentinel master/],
    ['redis-cluster://a,b/1', /database 0 only/],
    ['postgres://h:port/secret', /not a valid Postgres URL/],
  ])('refuses %s with a message that contains no secret', (text, sentence) => {
    expect(() => parseQueueUrl(text)).toThrow(sentence)
    expect(() => parseQueueUrl(text)).not.toThrow(/secret/)
  })
})
