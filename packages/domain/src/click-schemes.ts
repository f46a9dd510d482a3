/** Schemes of links that no tap may open. `http` is not private; the others run code, or read files or data of the app that opens them. */
export const refusedClickSchemes: ReadonlySet<string> = new Set([
  'http',
  'javascript',
  'vbscript',
  'file',
  'filesystem',
  'data',
  'blob',
  'content',
  'intent',
  'android-app',
  'about',
])
