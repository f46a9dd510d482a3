/** One letter a recipient in the status of a batch. */
export const letters = {
  pending: '.',
  sent: 's',
  failed: 'f',
  moved: 'm',
  expired: 'x',
  cancelled: 'c',
  /** Native only: pending in the inbox, whose row tells the rest. */
  inbox: 'i',
} as const
