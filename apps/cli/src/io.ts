import { styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

/** What a command may write. Results go to stdout, everything else to stderr. */
export type Io = {
  json: boolean
  /** Whether somebody watches: a bar that redraws itself is for people alone. */
  live: boolean
  /** A line for people; nothing with --json. */
  say(line: string): void
  /** A line for people that is not the result. */
  note(line: string): void
  /** A record for machines; nothing without --json. */
  record(value: unknown): void
  paint(style: Style, text: string): string
}

export function openIo(json: boolean): Io {
  const { stdout, stderr } = process
  return {
    json,
    live: !json && Boolean(stdout.isTTY && stderr.isTTY),
    say(line) {
      if (!json) stdout.write(`${line}\n`)
    },
    note(line) {
      if (!json) stderr.write(`${line}\n`)
    },
    record(value) {
      if (json) stdout.write(`${toJson(value)}\n`)
    },
    paint: (style, text) => styleText(style, text, { stream: stdout }),
  }
}

/** int64 beyond a double stays the number it was. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, field) => (typeof field === 'bigint' ? rawJson(String(field)) : field))
}

/** TypeScript does not know it yet; Node 24 does. */
export const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON
