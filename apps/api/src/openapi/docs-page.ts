import { codes } from '../codes.ts'
import type { OpenApiDocument, Operation } from './document.ts'
import type { JsonSchema } from './schemas.ts'

/** The document for people: one page, no script, nothing loaded from elsewhere. */
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
  .map(([code, when]) => `<tr><td><code>${code}</code></td><td>${escapeHtml(when)}</td></tr>`)
  .join('\n')}
</table></section></main></body></html>
`
}

/** Names the values of the demo application that the examples use. */
const variables = `export $(node -e 'const d = require("./.herald/demo.json"); console.log(
  "BASE_URL=" + d.base_url, "APP_ID=" + d.app_id, "APP_SECRET=" + d.app_secret, "TOKEN=" + d.admin_token,
  "OPERATOR_KEY=" + d.operator_key, "USER_ID=" + d.user.user_id, "USERNAME=" + d.user.username, "PASSWORD=" + d.user.password)')
export PUSH_TOKEN=$(curl -s -X POST "$BASE_URL/token/user" -H "app_id: $APP_ID" -H 'content-type: application/json' \\
  -d "{\\"name\\":\\"$USERNAME\\",\\"password\\":\\"$PASSWORD\\",\\"device_guid\\":\\"demo-native\\"}" | sed 's/.*"push_token":"\\([^"]*\\).*/\\1/')
export TASK_ID=$(curl -s -X POST "$BASE_URL/push/notify" -H "app_id: $APP_ID" -H "access-token: $TOKEN" -H 'content-type: application/json' \\
  -d '{"audience":"all","message":{"title":"Hello"}}' | sed 's/.*"task_id":\\([0-9]*\\).*/\\1/')`

const intro = `<p>Every answer is <code>{"code": …, "data": …, "message": …}</code>: code 200 and message null on success. Every call
but the operator's carries the header <code>app_id</code>; most carry <code>access-token</code>. Blank (absent, null, "", [] or {})
selects the default. int64 is exact in both directions.</p>
<p>The examples below work as they stand after <code>npm start</code>, in the same folder, once these lines have run:</p>
<pre>${escapeHtml(variables)}</pre>`

function operationPart(path: string, method: string, operation: Operation): string {
  const body = operation.requestBody as {
    content?: Record<string, { schema?: JsonSchema; example?: unknown }>
  }
  const json = body?.content?.['application/json']
  const example = json?.example ?? body?.content?.['application/x-ndjson']?.example
  const answer = operation.responses['200'] as {
    content: { 'application/json': { schema: { properties: { data: JsonSchema } } } }
  }
  const query = operation.parameters.filter((parameter) => parameter.in === 'query')
  return `<details><summary><b class="${method}">${method.toUpperCase()}</b> <code>${escapeHtml(path)}</code> ${escapeHtml(operation.summary)}</summary>
${operation.description
  .split('\n\n')
  .map((part) => `<p>${escapeHtml(part)}</p>`)
  .join('')}
${query.length > 0 ? `<h4>Query</h4>${fieldTable(query.map((parameter) => fieldOf(parameter.name as string, parameter.schema as JsonSchema, Boolean(parameter.required))))}` : ''}
${json?.schema ? `<h4>Body</h4>${fieldTable(fieldsOf(json.schema))}` : ''}
<h4>Example</h4><pre>${escapeHtml(curlOf(path, method, operation, example))}</pre>
<h4>Answer (data)</h4>${fieldTable(fieldsOf(answer.content['application/json'].schema.properties.data))}
<h4>Failures</h4><p>${Object.keys(operation.responses)
    .filter((status) => status !== '200')
    .map((status) => `<code>${status}</code>`)
    .join(' ')}</p></details>`
}

type Field = { name: string; type: string; required: boolean; about: string }

function fieldOf(name: string, schema: JsonSchema, required: boolean): Field {
  return { name, type: typeOf(schema), required, about: String(schema.description ?? '') }
}

/** Objects are unfolded into dotted names, as the messages of failures name them. */
function fieldsOf(schema: JsonSchema, prefix = ''): Field[] {
  if (schema.type === 'array') return fieldsOf(schema.items as JsonSchema, `${prefix}[]`)
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>
  const required = (schema.required ?? []) as string[]
  return Object.entries(properties).flatMap(([name, property]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`
    const own = fieldOf(path, property, required.includes(name))
    return [own, ...fieldsOf(property, path)]
  })
}

function typeOf(schema: JsonSchema): string {
  const options = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined
  if (options) return options.map(typeOf).join(' or ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return (schema.enum as unknown[]).map((value) => JSON.stringify(value)).join(', ')
  if (schema.type === 'array') return `list of ${typeOf((schema.items ?? {}) as JsonSchema)}`
  const limits = [
    schema.minimum !== undefined && `from ${schema.minimum}`,
    schema.maximum !== undefined && `to ${schema.maximum}`,
    schema.maxLength !== undefined && `at most ${schema.maxLength} characters`,
  ].filter(Boolean)
  return [schema.format === 'int64' ? 'int64' : (schema.type ?? 'any'), ...limits].join(' ')
}

function fieldTable(fields: Field[]): string {
  if (fields.length === 0) return '<p>None.</p>'
  return `<table>${fields
    .map(
      ({ name, type, required, about }) =>
        `<tr><td><code>${escapeHtml(name)}</code>${required ? ' *' : ''}</td><td>${escapeHtml(type)}</td><td>${escapeHtml(about)}</td></tr>`,
    )
    .join('')}</table>`
}

function curlOf(path: string, method: string, operation: Operation, example: unknown): string {
  const query = operation.parameters
    .filter((parameter) => parameter.in === 'query' && parameter.example !== undefined)
    .map((parameter) => `${parameter.name}=${parameter.example}`)
  const lines = [
    `curl -X ${method.toUpperCase()} "$BASE_URL${path}${query.length > 0 ? `?${query.join('&')}` : ''}"`,
  ]
  if (operation.security.some((scheme) => 'operatorKey' in scheme))
    lines.push(`-H "authorization: Bearer $OPERATOR_KEY"`)
  else lines.push(`-H "app_id: $APP_ID"`)
  if (operation.security.some((scheme) => 'accessToken' in scheme)) lines.push(`-H "access-token: $TOKEN"`)
  if (operation.description.includes('For a user token, or an admin')) lines.push(`-H "user_id: $USER_ID"`)
  if (example !== undefined && method !== 'get') {
    const isText = typeof example === 'string'
    lines.push(`-H 'content-type: ${isText ? 'application/x-ndjson' : 'application/json'}'`)
    lines.push(`-d ${shellQuoted(isText ? example : JSON.stringify(example))}`)
  }
  return lines.join(' \\\n  ')
}

/** In double quotes when the shell has something to fill in. */
function shellQuoted(text: string): string {
  return text.includes('$') ? `"${text.replaceAll(/["\\`]/g, '\\$&')}"` : `'${text}'`
}

function slug(name: string): string {
  return name.toLowerCase().replaceAll(/\W+/g, '-')
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
