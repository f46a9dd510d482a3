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
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>Herald HTTP interface</title><style>${style}</style></head>
<body><header><p><a href="/console/">Herald console</a></p><h1>Herald HTTP interface</h1><nav aria-label="Sections">${nav} <a href="#codes">Codes</a> <a href="/openapi.json">openapi.json</a></nav></header>
<main>${intro}${sections.join('\n')}
<section><h2 id="codes">Codes</h2><table><tr><th scope="col">code</th><th scope="col">when</th></tr>
${Object.entries(codes)
  .map(([code, when]) => `<tr><td><code>${code}</code></td><td>${wordsOf(when)}</td></tr>`)
  .join('\n')}
</table></section></main></body></html>
`
}

const intro = `${introduction.map((paragraph) => `<p>${wordsOf(paragraph)}</p>`).join('\n')}
<p>To run the examples below against the demo application, start it with <code>npm start</code> and run these lines in the same folder:</p>
${codeOf(demoVariables)}`

function operationPart(path: string, method: string, operation: Operation): string {
  const { query, body, answer, codes: failures, curl } = readOperation(path, method, operation)
  const id = anchorOf(method, path)
  // The id is on an element inside: a browser opens the details that a link leads into.
  return `<details><summary><b class="${method}">${method.toUpperCase()}</b> <code>${escapeHtml(path)}</code> ${escapeHtml(operation.summary)}</summary>
<p id="${id}" class="anchor"><a href="#${id}">Link to ${method.toUpperCase()} ${escapeHtml(path)}</a></p>
${operation.description
  .split('\n\n')
  .map((part) => `<p>${wordsOf(part)}</p>`)
  .join('')}
${query.length > 0 ? `<h3>Query</h3>${fieldTable(query)}` : ''}
${body ? `<h3>Body</h3>${fieldTable(body)}` : ''}
<h3>Example</h3>${codeOf(curl)}
<h3>Response (data)</h3>${fieldTable(answer)}
<h3>Failures</h3><p>${failures.map((code) => `<code>${code}</code>`).join(' ')}</p></details>`
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

/** `put-admin-push-certificate`; the console links to it. */
function anchorOf(method: string, path: string): string {
  return slug(`${method}${path}`)
}

/** Reachable by keyboard, because it may scroll. A click selects all of it. */
function codeOf(text: string): string {
  return `<pre tabindex="0">${exampleOf(text)}</pre>`
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

/** The colours of the console. Without scripts: a search by the browser opens the calls that it finds. */
const style = `:root{color-scheme:light dark;--text:#1c2330;--dim:#52595f;--back:#f5f7f8;--paper:#fff;--line:#dee2e6;--link:#075862;--code:#eef2f4}
@media (prefers-color-scheme:dark){:root{--text:#e3e6e8;--dim:#b3bac0;--back:#1a1b1e;--paper:#242529;--line:#43474d;--link:#79c5cb;--code:#2e3136}}
html{scroll-padding-top:7rem}body{font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;margin:0;color:var(--text);background:var(--back)}
a{color:var(--link)}:focus-visible{outline:2px solid var(--link);outline-offset:2px}
header{position:sticky;top:0;background:var(--paper);border-bottom:1px solid var(--line);padding:.6rem 1.5rem;max-height:40vh;overflow:auto}
header p{margin:0;float:right}h1{font-size:1.1rem;margin:0}nav a{display:inline-block;margin-right:1rem;line-height:1.6rem}
main{max-width:66rem;margin:auto;padding:1rem 1.5rem}h2{margin:2rem 0 .5rem;font-size:1.3rem}h3{margin:.8rem 0 .2rem;font-size:1rem}
details{background:var(--paper);border:1px solid var(--line);border-radius:8px;margin:.4rem 0;padding:.5rem .8rem}
summary{cursor:pointer;overflow-wrap:anywhere}.anchor{font-size:.85rem;margin:.3rem 0}
b{display:inline-block;min-width:4.2rem;font-size:.8rem}.get{color:light-dark(#1769aa,#7cc0f5)}.post{color:light-dark(#1b7a43,#6fd39b)}
.put{color:light-dark(#8a5600,#f0b457)}.delete{color:light-dark(#b3261e,#ff9b9b)}
table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid var(--line);padding:.25rem .6rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}
td:first-child{width:28%}td:nth-child(2):not(:last-child){width:20%;color:var(--dim)}
pre{background:var(--code);padding:.7rem;overflow:auto;border-radius:6px;user-select:all}code{font-size:.92em;background:var(--code);border-radius:3px;padding:0 .2em}
@media (max-width:40rem){header{position:static;padding:.6rem 1rem}html{scroll-padding-top:1rem}main{padding:1rem}td{display:block;width:auto!important;border:0}tr{display:block;border-bottom:1px solid var(--line)}}`
