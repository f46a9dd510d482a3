/** A caller's own words in a sentence: kept short, and quoted when they would not read as a name. */
export function shown(text: string): string {
  const short = text.length <= 100 ? text : `${text.slice(0, 100)}…`
  return /^\w[\w.[\]…-]*$/.test(short) ? short : JSON.stringify(short)
}
