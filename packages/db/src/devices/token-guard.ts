/** Over half of at least so many tokens called dead within the window, and nothing is retired. */
const GUARD_TOKENS = 20
export const GUARD_WINDOW = `interval '10 minutes'`

/** Receipts raise `gone` alone, because the send has counted its token as answered: so it may be the larger one. */
export function isSuspectSql(answered: string, gone: string): string {
  return `greatest(${answered}, ${gone}) >= ${GUARD_TOKENS} AND (${gone}) * 2 > ${answered}`
}
