import type { ReasonKinds } from '../card.ts'

/** What the codes in reasons of this vendor mean to a reader. `a.b`: the code `a` with the detail `b`. */
export const reasonKinds = {
  token_dead: ['110002', '110003'],
  message_refused: ['1005', '110004', '110032', '110053', '110005', '201', '520'],
  wrong_app: ['110001', '110031'],
  credentials_refused: ['1006', '110000', '110033'],
  app_barred: ['110009'],
  device_off: ['110010.target', '110011'],
  too_fast: ['110010', '518'],
  quota_used: ['110019', '110051'],
  vendor_trouble: ['300', '500', '501', '513', '519', '1001', '1003'],
} as const satisfies ReasonKinds
