/** A page of one sentence, for people who opened an address that has nothing else to show. */
export function wordsPage(title: string, sentence: string): string {
  const shown = sentence.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title></head>
<body><h1>${title}</h1><p>${shown}</p><p><a href="/console/">Console</a></p></body></html>
`
}
