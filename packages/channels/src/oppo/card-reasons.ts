import type { ReasonKinds } from '../card.ts'

/** What the codes in reasons of this vendor mean to a reader. `a.b`: the code `a` with the detail `b`. */
export const reasonKinds = {
  token_dead: ['10000', '41.registration_id', 'regid_invalid'],
  message_refused: ['12', '20', '21', '22', '23', '24', '25', '31', '40', '41', '51', '54', '67'],
  credentials_refused: ['11', '14', '15', '16', '17', '18', '29'],
  permission_missing: ['27', '30', '59'],
  app_barred: ['28'],
  server_barred: ['26'],
  wrong_clock: ['19'],
  device_off: ['user_daily_limit'],
  too_fast: ['-2', '13', '55'],
  quota_used: ['33', '34'],
  vendor_trouble: ['-1'],
} as const satisfies ReasonKinds
