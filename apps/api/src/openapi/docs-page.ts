import { type Code, codes } from '../codes.ts'
import { chineseCodes, chineseIntroduction, chineseSections, chineseSummaries } from './chinese.ts'
import { chineseAccess, chineseDescriptions } from './chinese-descriptions.ts'
import { accessText, groupText, type OpenApiDocument, type Operation } from './document.ts'
import { introduction } from './introduction.ts'
import { demoVariables, type Field, readOperation } from './operation-parts.ts'

export type DocsLanguage = 'en' | 'zh'

/** Renders the page in a language; with `search`, only the calls that contain all its words. */
export type DocsPage = (language?: DocsLanguage, search?: string) => string

/** A longer search is cut: the page needs no token, so its cost must be small. */
const MAX_SEARCH = 100

/**
 * The document as HTML pages without scripts or external resources. The parts are rendered once per language; a search only selects
 * some of them.
 */
export function createDocsPage(document: OpenApiDocument): DocsPage {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const tags = document.tags.map(({ name }) => name)
  const partsIn = (language: DocsLanguage): Part[] =>
    operations.map(({ path, method, operation }) => partOf(path, method, operation, language))
  const parts: Partial<Record<DocsLanguage, Part[]>> = {}
  const wholes: Partial<Record<DocsLanguage, string>> = {}
  return (language = 'en', search = '') => {
    parts[language] ??= partsIn(language)
    const words = search.slice(0, MAX_SEARCH).toLowerCase().split(/\s+/).filter(Boolean)
    if (words.length > 0) return pageOf(language, tags, parts[language], { text: search, words })
    wholes[language] ??= pageOf(language, tags, parts[language])
    return wholes[language]
  }
}

/** The language that a browser asks for. */
export function docsLanguage(asked: string | null, acceptLanguage: string | undefined): DocsLanguage {
  if (asked === 'zh' || asked === 'en') return asked
  return /^\s*zh\b/i.test(acceptLanguage ?? '') ? 'zh' : 'en'
}

/** `text` is what a search looks into. */
type Part = { tags: readonly string[]; html: string; text: string }
type Search = { text: string; words: readonly string[] }

function pageOf(
  language: DocsLanguage,
  tags: readonly string[],
  parts: readonly Part[],
  search?: Search,
): string {
  const word = words[language]
  const found = search ? parts.filter(({ text }) => search.words.every((one) => text.includes(one))) : parts
  const sections = tags.flatMap((tag) => {
    const own = found.filter((part) => part.tags.includes(tag))
    if (own.length === 0) return []
    const html = own.map((part) => (search ? part.html.replace('<details>', '<details open>') : part.html))
    return [
      `<section><h2 id="${slug(tag)}">${escapeHtml(sectionName(tag, language))}</h2>\n${html.join('\n')}</section>`,
    ]
  })
  // A search shows some sections only.
  const page = search ? `/docs?lang=${language}` : ''
  const nav = tags
    .map((tag) => `<a href="${page}#${slug(tag)}">${escapeHtml(sectionName(tag, language))}</a>`)
    .join(' ')
  const other = language === 'zh' ? 'en' : 'zh'
  const kept = search ? `&amp;q=${encodeURIComponent(search.text.slice(0, MAX_SEARCH).toWellFormed())}` : ''
  return `<!doctype html>
<html lang="${htmlLanguages[language]}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>${word.title}</title><style>${style}</style></head>
<body><header><p><a href="/docs?lang=${other}${kept}" lang="${htmlLanguages[other]}">${words[other].name}</a> <a href="/console/">${word.console}</a></p><h1>${word.title}</h1>
<form role="search" action="/docs"><input type="hidden" name="lang" value="${language}"><input type="search" name="q" aria-label="${word.search}" placeholder="${word.search}" maxlength="${MAX_SEARCH}" value="${escapeHtml(search?.text.slice(0, MAX_SEARCH) ?? '')}"><button>${word.searchButton}</button></form>
<nav aria-label="${word.sections}">${nav} <a href="${page}#codes">${word.codes}</a> <a href="/openapi.json">openapi.json</a></nav></header>
<main>${search ? resultLine(language, found.length, search.text) : introductionIn(language)}${sections.join('\n')}
${search ? '' : codeTable(language)}</main></body></html>
`
}

function resultLine(language: DocsLanguage, count: number, text: string): string {
  const word = words[language]
  const shown = escapeHtml(text.slice(0, MAX_SEARCH))
  return `<p role="status">${count === 0 ? word.foundNone(shown) : word.found(count, shown)} <a href="/docs?lang=${language}">${word.all}</a></p>`
}

function introductionIn(language: DocsLanguage): string {
  const word = words[language]
  const paragraphs = language === 'zh' ? chineseIntroduction : introduction
  return `${[...paragraphs, word.marked].map((paragraph) => `<p>${wordsOf(paragraph)}</p>`).join('\n')}
<p>${wordsOf(word.examples)}</p>
${codeOf(demoVariables)}`
}

function codeTable(language: DocsLanguage): string {
  const word = words[language]
  const texts: Record<Code, string> = language === 'zh' ? chineseCodes : codes
  return `<section><h2 id="codes">${word.codes}</h2><table><tr><th scope="col">${word.code}</th><th scope="col">${word.when}</th></tr>
${Object.entries(texts)
  .map(([code, when]) => `<tr><td><code>${code}</code></td><td>${wordsOf(when)}</td></tr>`)
  .join('\n')}
</table></section>`
}

function partOf(path: string, method: string, operation: Operation, language: DocsLanguage): Part {
  const { query, body, answer, isLines, codes: failures, curl } = readOperation(path, method, operation)
  const word = words[language]
  const id = anchorOf(method, path)
  const name = `${method.toUpperCase()} ${path}`
  const summary = language === 'zh' ? (chineseSummaries[name] ?? operation.summary) : operation.summary
  const paragraphs = paragraphsIn(language, name, operation.description.split('\n\n'))
  const fields = [query, body ?? [], answer].flat()
  // The id is on an element inside: a browser opens the details that a link leads into.
  const html = `<details><summary><b class="${method}">${method.toUpperCase()}</b> <code>${escapeHtml(path)}</code> ${escapeHtml(summary)}</summary>
<p id="${id}" class="anchor"><a href="#${id}">${word.linkTo} ${method.toUpperCase()} ${escapeHtml(path)}</a></p>
${paragraphs.map((part) => `<p>${wordsOf(part)}</p>`).join('')}
${query.length > 0 ? `<h3>${word.query}</h3>${fieldTable(query, language)}` : ''}
${body ? `<h3>${word.body}</h3>${fieldTable(body, language)}` : ''}
<h3>${word.example}</h3>${codeOf(curl)}
<h3>${isLines ? word.line : word.response}</h3>${fieldTable(answer, language)}
<h3>${word.failures}</h3><p>${failures.map((code) => `<code>${code}</code>`).join(' ')}</p></details>`
  const searched = [
    name,
    summary,
    operation.summary,
    operation.description,
    ...paragraphs,
    ...fields.map((field) => `${field.name} ${field.about}`),
    ...failures,
  ]
  return { tags: operation.tags, html, text: searched.join(' ').toLowerCase() }
}

const accessIn: ReadonlyMap<string, string> = new Map([
  ...Object.entries(accessText).map(
    ([access, english]) => [english, chineseAccess[access as keyof typeof accessText]] as const,
  ),
  [groupText, chineseAccess.group] as const,
])

/** The description of a call, then who may make it. */
function paragraphsIn(language: DocsLanguage, name: string, english: readonly string[]): readonly string[] {
  if (language === 'en') return english
  const own = english.filter((paragraph) => !accessIn.has(paragraph))
  const translated = chineseDescriptions[name]
  return [
    ...(translated === undefined ? own : [translated]),
    ...english.flatMap((paragraph) => accessIn.get(paragraph) ?? []),
  ]
}

function fieldTable(fields: Field[], language: DocsLanguage): string {
  if (fields.length === 0) return `<p>${words[language].none}</p>`
  return `<table${language === 'en' ? '' : ' lang="en"'}>${fields
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

const sectionName = (tag: string, language: DocsLanguage) =>
  language === 'zh' ? (chineseSections[tag] ?? tag) : tag

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

const htmlLanguages = { en: 'en', zh: 'zh-CN' }

const words = {
  en: {
    name: 'English',
    title: 'Herald HTTP interface',
    console: 'Herald console',
    sections: 'Sections',
    search: 'Search calls and fields',
    searchButton: 'Search',
    found: (count: number, text: string) =>
      count === 1 ? `1 call contains “${text}”.` : `${count} calls contain “${text}”.`,
    foundNone: (text: string) => `No call contains “${text}”.`,
    all: 'Show all calls',
    codes: 'Codes',
    code: 'code',
    when: 'when',
    linkTo: 'Link to',
    query: 'Query',
    body: 'Body',
    example: 'Example',
    response: 'Response (data)',
    line: 'Line of the response',
    failures: 'Failures',
    none: 'None.',
    marked:
      'Fields marked * are required in requests and always present in responses, where the object that contains them is present.',
    examples:
      'To run the examples below against the demo application, start it with `npm start` and run these lines in the same folder:',
  },
  zh: {
    name: '中文',
    title: 'Herald HTTP 接口',
    console: 'Herald 控制台',
    sections: '章节',
    search: '搜索接口和字段',
    searchButton: '搜索',
    found: (count: number, text: string) => `包含“${text}”的接口：${count} 个。`,
    foundNone: (text: string) => `没有包含“${text}”的接口。`,
    all: '显示全部接口',
    codes: '错误码',
    code: '错误码',
    when: '含义',
    linkTo: '链接到',
    query: '查询参数',
    body: '请求体',
    example: '示例',
    response: '响应（data）',
    line: '响应的每一行',
    failures: '可能的错误码',
    none: '无。',
    marked: '带 * 的字段，只要所属的对象存在，在请求中必填，在响应中总是存在。字段的说明为英文。',
    examples: '要在演示应用上运行下面的示例，请用 `npm start` 启动，并在同一目录下执行：',
  },
}

/** The colours of the console. */
const style = `:root{color-scheme:light dark;--text:#1c2330;--dim:#52595f;--back:#f5f7f8;--paper:#fff;--line:#dee2e6;--link:#075862;--code:#eef2f4}
@media (prefers-color-scheme:dark){:root{--text:#e3e6e8;--dim:#b3bac0;--back:#1a1b1e;--paper:#242529;--line:#43474d;--link:#79c5cb;--code:#2e3136}}
html{scroll-padding-top:8rem}body{font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"PingFang SC","Microsoft YaHei","Noto Sans CJK SC",sans-serif;margin:0;color:var(--text);background:var(--back)}
a{color:var(--link)}:focus-visible{outline:2px solid var(--link);outline-offset:2px}
header{position:sticky;top:0;background:var(--paper);border-bottom:1px solid var(--line);padding:.6rem 1.5rem;max-height:40vh;overflow:auto}
header p{margin:0;float:right}header p a{margin-left:1rem}h1{font-size:1.1rem;margin:0}nav a{display:inline-block;margin-right:1rem;line-height:1.6rem}
form{display:flex;gap:.5rem;margin:.5rem 0;max-width:30rem}input[type=search]{flex:1;min-width:0}input,button{font:inherit;color:var(--text);background:var(--paper);border:1px solid var(--dim);border-radius:6px;padding:.25rem .6rem}button{cursor:pointer}::placeholder{color:var(--dim);opacity:1}
main{max-width:66rem;margin:auto;padding:1rem 1.5rem}h2{margin:2rem 0 .5rem;font-size:1.3rem}h3{margin:.8rem 0 .2rem;font-size:1rem}
details{background:var(--paper);border:1px solid var(--line);border-radius:8px;margin:.4rem 0;padding:.5rem .8rem}
summary{cursor:pointer;overflow-wrap:anywhere}.anchor{font-size:.85rem;margin:.3rem 0}
b{display:inline-block;min-width:4.2rem;font-size:.8rem}.get{color:light-dark(#1769aa,#7cc0f5)}.post{color:light-dark(#1b7a43,#6fd39b)}
.put{color:light-dark(#8a5600,#f0b457)}.delete{color:light-dark(#b3261e,#ff9b9b)}
table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid var(--line);padding:.25rem .6rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}
td:first-child{width:28%}td:nth-child(2):not(:last-child){width:20%;color:var(--dim)}
pre{background:var(--code);padding:.7rem;overflow:auto;border-radius:6px;user-select:all}code{font-size:.92em;background:var(--code);border-radius:3px;padding:0 .2em}
@media (max-width:40rem){header{position:static;padding:.6rem 1rem}html{scroll-padding-top:1rem}main{padding:1rem}td{display:block;width:auto!important;border:0}tr{display:block;border-bottom:1px solid var(--line)}}`
