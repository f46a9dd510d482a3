import { codes } from '../codes.ts'
import type { OpenApiDocument, Operation } from './document.ts'
import { introduction } from './introduction.ts'
import { demoVariables, type Field, readOperation } from './operation-parts.ts'

/** Renders the document as docs/api-reference.md; the same content as /docs. */
export function referencePage(document: OpenApiDocument): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const tags = document.tags.map(({ name }) => ({
    name,
    own: operations.filter(({ operation }) => operation.tags.includes(name)),
  }))
  return `${[
    opening,
    ...tags.map(({ name, own }) => `- ${name}: ${own.map(linkTo).join(', ')}`),
    '',
    '## Codes',
    '',
    table(
      ['code', 'when'],
      Object.entries(codes).map(([code, when]) => [`\`${code}\``, when]),
    ),
    ...tags.flatMap(({ name, own }) => [
      '',
      `## ${name}`,
      ...own.map(({ path, method, operation }) => operationPart(path, method, operation)),
    ]),
  ].join('\n')}\n`
}

const opening = `# API reference

Generated from the OpenAPI document by \`scripts/write-api-reference.ts\`. A running Herald serves the same content at \`/docs\`
and \`/openapi.json\`.

${introduction.join('\n\n')}

Fields marked * are required in requests and always present in responses, where the object that contains them is present.

To run the examples against the demo application, start it with \`npm start\` and run these lines in the same folder:

\`\`\`sh
${demoVariables}
\`\`\`
`

type Place = { path: string; method: string }
const title = ({ path, method }: Place) => `${method.toUpperCase()} ${path}`
/** The anchor that GitHub gives a heading. */
const anchor = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-')
const linkTo = (place: Place) => `[${title(place)}](#${anchor(title(place))})`

function operationPart(path: string, method: string, operation: Operation): string {
  const { query, body, answer, isLines, codes: failures, curl } = readOperation(path, method, operation)
  return [
    '',
    `### ${title({ path, method })}`,
    '',
    `**${operation.summary}.** ${operation.description}`,
    ...part('Query', query),
    ...part('Body', body ?? []),
    '',
    '```sh',
    curl,
    '```',
    ...part(isLines ? 'Line of the response' : 'Response (`data`)', answer),
    '',
    `Failures: ${failures.map((code) => `\`${code}\``).join(' ')}`,
  ].join('\n')
}

function part(heading: string, fields: Field[]): string[] {
  if (fields.length === 0) return []
  const rows = fields.map(({ name, type, required, about }) => [
    `\`${name}\`${required ? ' *' : ''}`,
    type,
    about,
  ])
  return ['', table([heading, 'type', 'meaning'], rows)]
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')
}
