/** The status of a batch has one letter per recipient. */
export const letters = {
  pending: '.',
  sent: 's',
  failed: 'f',
  moved: 'm',
  expired: 'x',
  cancelled: 'c',
  /** Native only: pending, with a row in the inbox that has the details. */
  inbox: 'i',
} as const
