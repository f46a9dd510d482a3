import { CliFailure } from './failure.ts'

/** A record of a CSV file; `line` is the line where it begins, from 1, and `lines` how many it takes. */
export type CsvRecord = { line: number; lines: number; fields: string[] }

/** Longest record in characters: an unclosed quote would otherwise read the whole file into memory. */
const MAX_RECORD = 1024 * 1024

/** Parses CSV as of RFC 4180 in constant memory: fields may be quoted, and then contain commas, line ends and doubled quotes. */
export async function* csvRecords(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<CsvRecord> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let fields: string[] = []
  let field = ''
  /** `after`: behind the closing quote of a field. */
  let state = 'plain' as 'plain' | 'quoted' | 'after'
  let line = 1
  let began = 1
  let length = 0

  function* read(text: string): Generator<CsvRecord> {
    for (const character of text) {
      if (++length > MAX_RECORD)
        throw new CsvProblem(`Line ${began}: the record is too long. Is a quote missing?`)
      if (character === '\n') line++
      if (state === 'quoted') {
        if (character === '"') state = 'after'
        else field += character
      } else if (character === '"' && state === 'after') {
        field += '"'
        state = 'quoted'
      } else if (character === '"' && field === '') {
        state = 'quoted'
      } else if (character === ',') {
        fields.push(field)
        field = ''
        state = 'plain'
      } else if (character === '\n') {
        yield finish()
      } else if (character !== '\r') {
        field += character
      }
    }
  }
  function finish(): CsvRecord {
    const record = { line: began, lines: Math.max(1, line - began), fields: [...fields, field] }
    fields = []
    field = ''
    state = 'plain'
    began = line
    length = 0
    return record
  }

  function decode(chunk?: Uint8Array): string {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined })
    } catch {
      throw new CsvProblem('The file is not valid UTF-8; convert it first.')
    }
  }

  for await (const chunk of chunks) yield* read(decode(chunk))
  yield* read(decode())
  if ((state as string) === 'quoted') throw new CsvProblem(`Line ${began}: a quote is not closed.`)
  if (field !== '' || fields.length > 0) yield finish()
}

/** The file is not CSV. */
export class CsvProblem extends CliFailure {}
