/** The server writes a fresh one into the page at each answer; style elements without it are refused. */
export const nonce = document.querySelector('meta[name="csp-nonce"]')?.getAttribute('content') ?? ''
