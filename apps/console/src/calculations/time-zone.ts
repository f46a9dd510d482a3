/** The browser's time zone, in which the console shows and reads times: `Asia/Shanghai (GMT+8)`. */
export function zoneText(language: string, at = Date.now(), timeZone?: string): string {
  const parts = new Intl.DateTimeFormat(language, { timeZone, timeZoneName: 'shortOffset' })
  const offset = parts.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value
  const name = parts.resolvedOptions().timeZone
  return offset === undefined || offset === name ? name : `${name} (${offset})`
}
