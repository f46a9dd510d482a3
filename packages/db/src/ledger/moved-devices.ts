/**
 * The condition that a device got another person after a time. The creation of a device does not count, because nobody had it before: if
 * the server's clock was set back since, it is later than what is planned now. A device that got another person before the clock was set back
 * receives nothing until that time: messages for the former person may still be on their way.
 */
export function movedAfterSql(device: string, time: string): string {
  return `(${device}.moved_at > ${time} AND ${device}.moved_at <> ${device}.created_at)`
}
