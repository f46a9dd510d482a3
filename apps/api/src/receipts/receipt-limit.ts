/** Receipts that a device may send: a call has at most 500, and a device that was offline for long sends several. */
export const receiptLimit = { perSecond: 500, burst: 5000 }
