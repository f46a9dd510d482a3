import { describe, expect, it } from '@jest/globals'
import { parseIntentUri } from '../../src/shared/intent-uri.ts'

describe('an intent URI', () => {
  it.each([
    ['fields and extras', 'intent:#Intent;action=A;S.k=v;end', [['action', 'A']], [['S', 'k', 'v']]],
    [
      'kinds of extras',
      'intent:#Intent;i.n=1;B.f=true;end',
      [],
      [
        ['i', 'n', '1'],
        ['B', 'f', 'true'],
      ],
    ],
    ['escapes', 'intent:#Intent;S.a%20b=c%3Bd;end', [], [['S', 'a b', 'c;d']]],
    ['broken escapes as they are', 'intent:#Intent;S.k=100%;end', [], [['S', 'k', '100%']]],
    ['no extra without a name', 'intent:#Intent;S.=v;x;end', [['S.', 'v']], []],
    ['nothing after end', 'intent:#Intent;end;S.k=v', [], []],
  ])('is read with %s', (_name, uri, fields, extras) => {
    const read = parseIntentUri(uri)!
    expect([...read.fields]).toEqual(fields)
    expect(read.extras.map(({ kind, name, value }) => [kind, name, value])).toEqual(extras)
  })

  it('keeps the address before it; without #Intent it is not an intent URI', () => {
    expect(parseIntentUri('intent://open?id=1#Intent;end')?.address).toBe('intent://open?id=1')
    expect(parseIntentUri('https://example.com')).toBeUndefined()
  })
})
