import { codes } from '../codes.ts'
import type { OpenApiDocument, Operation } from './document.ts'
import { introduction } from './introduction.ts'
import { demoVariables, type Field, readOperation } from './operation-parts.ts'

/** Renders the document as one HTML page without scripts or external resources. */
export function docsPage(document: OpenApiDocument): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const sections = document.tags.map(
    ({ name }) => `<section><h2 id="${slug(name)}">${escapeHtml(name)}</h2>
${operations
  .filter(({ operation }) => operation.tags.includes(name))
  .map(({ path, method, operation }) => operationPart(path, method, operation))
  .join('\n')}</section>`,
  )
  const nav = document.tags.map(({ name }) => `<a href="#${slug(name)}">${escapeHtml(name)}</a>`).join(' ')
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Herald HTTP interface</title><style>${style}</style></head>
<body><header><h1>Herald HTTP interface</h1><nav>${nav} <a href="#codes">Codes</a> <a href="/openapi.json">openapi.json</a></nav></header>
<main>${intro}${sections.join('\n')}
<section><h2 id="codes">Codes</h2><table><tr><th>code</th><th>when</th></tr>
${Object.entries(codes)
  .map(([code, when]) => `<tr><td><code>${code}</code></td><td>${wordsOf(when)}</td></tr>`)
  .join('\n')}
</table></section></main></body></html>
`
}

const intro = `${introduction.map((paragraph) => `<p>${wordsOf(paragraph)}</p>`).join('\n')}
<p>To run the examples below against the demo application, start it with <code>npm start</code> and run these lines in the same folder:</p>
<pre>${exampleOf(demoVariables)}</pre>`

function operationPart(path: string, method: string, operation: Operation): string {
  const { query, body, answer, codes: failures, curl } = readOperation(path, method, operation)
  return `<details><summary><b class="${method}">${method.toUpperCase()}</b> <code>${escapeHtml(path)}</code> ${escapeHtml(operation.summary)}</summary>
${operation.description
  .split('\n\n')
  .map((part) => `<p>${wordsOf(part)}</p>`)
  .join('')}
${query.length > 0 ? `<h4>Query</h4>${fieldTable(query)}` : ''}
${body ? `<h4>Body</h4>${fieldTable(body)}` : ''}
<h4>Example</h4><pre>${exampleOf(curl)}</pre>
<h4>Response (data)</h4>${fieldTable(answer)}
<h4>Failures</h4><p>${failures.map((code) => `<code>${code}</code>`).join(' ')}</p></details>`
}

function fieldTable(fields: Field[]): string {
  if (fields.length === 0) return '<p>None.</p>'
  return `<table>${fields
    .map(
      ({ name, type, required, about }) =>
        `<tr><td><code>${escapeHtml(name)}</code>${required ? ' *' : ''}</td><td>${escapeHtml(type)}</td><td>${wordsOf(about)}</td></tr>`,
    )
    .join('')}</table>`
}

function slug(name: string): string {
  return name.toLowerCase().replaceAll(/\W+/g, '-')
}

/** Descriptions contain no other Markdown than code. */
function wordsOf(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]*)`/g, '<code>$1</code>')
}

/** An address in an example is text: the page refers to no other server. */
function exampleOf(text: string): string {
  return escapeHtml(text).replaceAll('://', ':&#47;&#47;')
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

const style = `body{font:15px/1.5 system-ui,sans-serif;margin:0;color:#1c2330;background:#fff}
header{position:sticky;top:0;background:#1c2330;color:#fff;padding:.6rem 1.5rem}h1{font-size:1.1rem;margin:0}
nav a{color:#b9c7e4;margin-right:1rem}main{max-width:62rem;margin:auto;padding:1rem 1.5rem}h2{margin:2rem 0 .5rem}
details{border:1px solid #d9dfe8;border-radius:6px;margin:.4rem 0;padding:.5rem .8rem}summary{cursor:pointer}
b{display:inline-block;width:4.2rem;font-size:.8rem}.get{color:#1769aa}.post{color:#1b7a43}.put{color:#9a6200}.delete{color:#b3261e}
table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #e6eaf0;padding:.25rem .6rem;text-align:left;vertical-align:top}
pre{background:#f4f6f9;padding:.7rem;overflow:auto;border-radius:6px}code{font-size:.92em}h4{margin:.8rem 0 .2rem}`
