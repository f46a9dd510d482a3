import type { ReasonKinds } from '../card.ts'

/** What the codes in reasons of this vendor mean to a reader. `a.b`: the code `a` with the detail `b`. */
export const reasonKinds = {
  token_dead: [
    '80300007',
    '200.expireTokens',
    '0.expireTokens',
    '80000000.expireTokens',
    '80100000.expireTokens',
  ],
  message_refused: [
    '400',
    '80100001',
    '80100003',
    '80100004',
    '80100016',
    '80300010',
    '80100000.failTokens',
    '200.failTokens',
    '0.failTokens',
    '80000000.failTokens',
  ],
  wrong_app: ['404'],
  too_large: ['413', '80300008'],
  credentials_refused: ['401', '80200001', '80200003', 'oauth_400', 'oauth_401', 'oauth_403'],
  permission_missing: ['403', '80300002'],
  too_fast: ['429', '503'],
  vendor_trouble: ['500', '502', '504', '81000001'],
} as const satisfies ReasonKinds
