import { expect, it } from '@jest/globals'
import {
  CommitInDoubt,
  type Failure,
  failureOf,
  isConnectionLost,
  isDataError,
  isInDoubt,
  isUnreachable,
} from '../src/index.ts'

const errorOf = (fields: object, message = 'trouble') => Object.assign(new Error(message), fields)
const wrapped = (originalCode: string, originalMessage = '') =>
  errorOf({ code: 'P2010', meta: { driverAdapterError: { cause: { originalCode, originalMessage } } } })

it.each<[string, Error, Failure | undefined]>([
  ['a deadlock', errorOf({ code: '40P01' }), 'conflict'],
  ['a serialization failure', errorOf({ code: '40001' }), 'conflict'],
  ['a commit whose end is unknown', errorOf({ code: '40003' }), 'lost'],
  ['a read-only server', errorOf({ code: '25006' }), 'refused'],
  ['a full disk', errorOf({ code: '53100' }), 'refused'],
  ['too many connections', errorOf({ code: '53300' }), 'refused'],
  ['too little memory', errorOf({ code: '53200' }), 'ended'],
  ['a cancelled statement', errorOf({ code: '57014' }), 'ended'],
  ['a lock that was not granted', errorOf({ code: '55P03' }), 'ended'],
  ['an I/O error', errorOf({ code: '58030' }), 'ended'],
  ['an idle transaction that was ended', errorOf({ code: '25P03', severity: 'FATAL' }), 'ended'],
  ['a shutdown', errorOf({ code: '57P01' }), 'lost'],
  ['a start', errorOf({ code: '57P03' }), 'refused'],
  ['a dropped database', errorOf({ code: '57P04' }), 'lost'],
  ['a rejected connection', errorOf({ code: '08001' }), 'refused'],
  ['a lost connection', errorOf({ code: '08006' }), 'lost'],
  [
    'a pooler without a server',
    errorOf({ code: '08P01' }, 'server login has been failing (server_login_retry)'),
    'refused',
  ],
  ['a pooler with too many clients', errorOf({ code: '08P01' }, 'query_wait_timeout'), 'refused'],
  ['a pooler whose server crashed', errorOf({ code: '08P01' }, 'server conn crashed?'), 'lost'],
  [
    'a pooler that rejects our settings',
    errorOf({ code: '08P01' }, 'unsupported startup parameter: options'),
    undefined,
  ],
  ['a fatal error of a pooler without a known code', errorOf({ severity: 'FATAL', code: 'XX000' }), 'lost'],
  ['a wrong password', errorOf({ severity: 'FATAL', code: '28P01' }), undefined],
  ['an unknown database', errorOf({ severity: 'FATAL', code: '3D000' }), undefined],
  ['a refused connection', errorOf({ code: 'ECONNREFUSED' }), 'refused'],
  ['an unreachable host', errorOf({ code: 'EHOSTUNREACH', syscall: 'connect' }), 'refused'],
  ['a host that vanished during a statement', errorOf({ code: 'EHOSTUNREACH', syscall: 'read' }), 'lost'],
  ['a reset connection', errorOf({ code: 'ECONNRESET' }), 'lost'],
  [
    'a client whose connection broke before',
    errorOf({}, 'Client has encountered a connection error and is not queryable'),
    'refused',
  ],
  ['a query without a reply', errorOf({}, 'Query read timeout'), 'slow'],
  ['a commit whose connection broke', new CommitInDoubt(errorOf({ code: '08006' })), 'lost'],
  ['a commit without a reply', new CommitInDoubt(errorOf({}, 'Query read timeout')), 'slow'],
  ['a commit of Prisma whose connection broke', new CommitInDoubt(wrapped('57P01')), 'lost'],
  ['a pool without a free connection', errorOf({}, 'timeout exceeded when trying to connect'), 'busy'],
  ['a shutdown seen by Prisma', wrapped('57P01'), 'lost'],
  ['a pooler’s error seen by Prisma', wrapped('08P01', 'query_wait_timeout'), 'refused'],
  [
    'data that looks like an error of the driver',
    errorOf({ code: '22P02' }, 'invalid input syntax for type bigint: "Connection terminated"'),
    undefined,
  ],
  ['a unique violation', errorOf({ code: '23505' }), undefined],
  ['an internal error', errorOf({ code: 'XX000', severity: 'ERROR' }), undefined],
  ['an error of ours', new TypeError('not a function'), undefined],
  ['an answer of ours, whose code is a number', errorOf({ code: 40002 }), undefined],
])('%s', (_, error, failure) => {
  expect(failureOf(error)).toBe(failure)
})

it.each<[Failure, string, [connectionLost: boolean, inDoubt: boolean, unreachable: boolean]]>([
  ['conflict', '40P01', [false, false, false]],
  ['refused', '25006', [true, false, true]],
  ['ended', '57014', [false, false, true]],
  ['lost', '08006', [true, true, true]],
])('tells what follows from %s', (_, code, expected) => {
  const error = errorOf({ code })
  expect([isConnectionLost(error), isInDoubt(error), isUnreachable(error)]).toEqual(expected)
})

it('blames data for the classes 22, 23 and 42, and for a value too long for an index', () => {
  const data = ['22021', '23505', '42703', '54000']
  const codes = [...data, '25006', '40P01', '53100', '54001', '57014', 'XX000', 'P2002']
  expect(codes.filter((code) => isDataError(errorOf({ code })))).toEqual(data)
  expect([isDataError(wrapped('22P02')), isDataError(undefined), isDataError({ code: '22021' })]).toEqual([
    true,
    false,
    false,
  ])
})
