/** A time zone in which it is about noon, for specs of what is counted per day: no midnight passes while they run. */
export function noonZone(): string {
  const hours = 12 - new Date().getUTCHours()
  if (hours === 0) return 'UTC'
  // In these names zones east of Greenwich have a minus.
  return `Etc/GMT${hours > 0 ? '-' : '+'}${Math.abs(hours)}`
}
