import type { Outcome } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { reasons as apnsReasons } from '../src/apns/classify.ts'
import type { Card } from '../src/card.ts'
import { cards } from '../src/cards.ts'
import { classify as classifyFcm } from '../src/fcm/classify.ts'
import { byCode as honorCodes } from '../src/honor/classify.ts'
import { byIllegalReason, bySubError, byCode as huaweiCodes } from '../src/huawei/classify.ts'
import { callCodes, targetCodes } from '../src/meizu/classify.ts'
import { meanings as oppoMeanings } from '../src/oppo/classify.ts'
import { type ReasonKind, reasonKindNames, reasonKindOf } from '../src/reason-kinds.ts'
import { resultCodes } from '../src/vivo/classify.ts'
import { meanings as xiaomiMeanings } from '../src/xiaomi/classify.ts'

type Known = [code: string, outcome: string]

const fcmReply = (status: number, errorCode: string) => ({
  status,
  body: JSON.stringify({
    error: {
      status: errorCode,
      details: [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode }],
    },
  }),
})
const fcmCodes = [
  [400, 'INVALID_ARGUMENT'],
  [404, 'UNREGISTERED'],
  [403, 'SENDER_ID_MISMATCH'],
  [401, 'THIRD_PARTY_AUTH_ERROR'],
  [429, 'QUOTA_EXCEEDED'],
  [503, 'UNAVAILABLE'],
  [500, 'INTERNAL'],
  [404, 'NOT_FOUND'],
  [403, 'PERMISSION_DENIED'],
  [401, 'UNAUTHENTICATED'],
] as const

/** Every code of the tables by which replies are read. */
const known: Known[] = [
  ...Object.entries(apnsReasons).map(([word, { kind }]): Known => [`apns.${word}`, kind]),
  ...fcmCodes.map(([status, code]): Known => {
    const { outcome } = classifyFcm(fcmReply(status, code))
    return [(outcome as Extract<Outcome, { reason: object }>).reason.code, outcome.kind]
  }),
  ...Object.entries(huaweiCodes).map(([code, [kind]]): Known => [`huawei.${code}`, kind]),
  ...[...byIllegalReason].map(([name, [kind]]): Known => [`huawei.80100000.${name}`, kind]),
  ...Object.entries(bySubError).map(([code, [kind]]): Known => [`huawei.oauth_${code}`, kind]),
  ...xiaomiMeanings.flatMap(([meaning, , codes]) => codes.map((code): Known => [`xiaomi.${code}`, meaning])),
  ...oppoMeanings.flatMap(([meaning, , codes]) =>
    meaning === 'accepted' ? [] : codes.map((code): Known => [`oppo.${code}`, meaning]),
  ),
  ...Object.entries(resultCodes).map(([code, [meaning]]): Known => [`vivo.${code}`, meaning]),
  ...Object.entries(callCodes).map(([code, [meaning]]): Known => [`flyme.${code}`, meaning]),
  ...Object.entries(targetCodes).map(
    ([code, [meaning]]): Known => [
      callCodes[code] && callCodes[code][0] !== meaning ? `flyme.${code}.target` : `flyme.${code}`,
      meaning,
    ],
  ),
  ...Object.entries(honorCodes).map(([code, [kind]]): Known => [`honor.${code}`, kind]),
]

/** What an outcome may be called. Outcomes that are not listed have several causes. */
const allowed: Readonly<Record<string, readonly ReasonKind[]>> = {
  gone: ['token_dead'],
  targets: ['token_dead'],
  'one-target': ['token_dead'],
  'bad-target': ['token_dead'],
  throttled: ['too_fast'],
  'slow-down': ['too_fast'],
  quota: ['quota_used', 'too_fast'],
  'until midnight': ['quota_used'],
  'until opening': ['quota_used'],
  misconfigured: ['credentials_refused', 'wrong_app', 'permission_missing', 'app_barred'],
  'bad-certificate': ['credentials_refused', 'wrong_app', 'permission_missing', 'app_barred'],
}

describe('the kind of a vendor’s reason', () => {
  it('is known for every code of the tables', () => {
    expect(known.length).toBeGreaterThan(300)
    expect(known.filter(([code]) => reasonKindOf(code) === undefined)).toEqual([])
  })

  it('agrees with the outcome', () => {
    const wrong = known.filter(([code, outcome]) => {
      const kinds = allowed[outcome]
      return kinds
        ? !kinds.includes(reasonKindOf(code)!)
        : reasonKindOf(code) === 'token_dead' && outcome !== 'bad-message'
    })
    expect(wrong).toEqual([])
  })

  it('is found by the code with its detail, by the code alone, or by the status', () => {
    expect(
      [
        'huawei.80100000.tokenFormatError',
        'huawei.80100000.noPushTypeRight',
        'honor.200.expireTokens',
        'oppo.41.registration_id',
        'oppo.41',
        'fcm.INVALID_ARGUMENT.message.notification',
        'vivo.http_502',
        'vivo.http_413',
        'xiaomi.http_429',
      ].map(reasonKindOf),
    ).toEqual([
      'token_dead',
      'permission_missing',
      'token_dead',
      'token_dead',
      'message_refused',
      'message_refused',
      'vendor_trouble',
      'too_large',
      'too_fast',
    ])
    expect(['xiaomi.99999', 'herald.online', 'nonsense'].map(reasonKindOf)).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  it('is one of those that readers know, and each code has one', () => {
    for (const card of cards as readonly Card[]) {
      expect(
        Object.keys(card.reasonKinds).filter((kind) => !reasonKindNames.includes(kind as ReasonKind)),
      ).toEqual([])
      const codes = Object.values(card.reasonKinds).flat()
      expect(codes.filter((code, at) => codes.indexOf(code) !== at)).toEqual([])
    }
  })
})
