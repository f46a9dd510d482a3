import { styleText } from 'node:util'
import { toJson } from '@herald/domain'

type Style = Parameters<typeof styleText>[0]

/** Output of a command. Results go to stdout, everything else to stderr. */
export type Io = {
  json: boolean
  /** Whether stdout and stderr are a terminal, so that a progress bar can be drawn. */
  live: boolean
  /** Prints a line of the result; nothing with --json. */
  say(line: string): void
  /** Prints a line that is not part of the result to stderr; nothing with --json. */
  note(line: string): void
  /** Prints a JSON record; nothing without --json. */
  record(value: unknown): void
  paint(style: Style, text: string): string
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the colours of `paint` begin with one
const CONTROL = /\r\n|\u001b\[3[1239]m|\p{Cc}/gu

/** Replaces control characters: those of a message could change the terminal. Line ends, tabs and the colours of `paint` stay. */
export const printable = (text: string): string =>
  text.replaceAll(CONTROL, (found) =>
    found.length > 1 || found === '\n' || found === '\t' ? found : '\uFFFD',
  )

export function openIo(json: boolean): Io {
  const { stdout, stderr } = process
  return {
    json,
    live: !json && Boolean(stdout.isTTY && stderr.isTTY),
    say(line) {
      if (!json) stdout.write(`${printable(line)}\n`)
    },
    note(line) {
      if (!json) stderr.write(`${printable(line)}\n`)
    },
    record(value) {
      if (json) stdout.write(`${toJson(value)}\n`)
    },
    paint: (style, text) => styleText(style, text, { stream: stdout }),
  }
}
