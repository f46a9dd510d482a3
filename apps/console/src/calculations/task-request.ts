import type { Strategy } from '@herald/domain'

const audienceKinds = ['tag', 'alias', 'user_id', 'push_token', 'activity'] as const
export type AudienceKind = (typeof audienceKinds)[number]

/** The parts of a request that the page of a task shows. */
export type Asked = {
  audience: { kind: 'all' } | { kind: AudienceKind; values: string[] }
  strategy: Strategy
  sequence: string[]
  ttl: number
  messageClass?: 'service' | 'marketing'
  /** Unix seconds. */
  showEnd?: number
  message: {
    type: 'text' | 'image' | 'cmd'
    title?: string
    body?: string
    bigText?: string
    attachment?: string
    url?: string
  }
}

/** Reads the `body` of a stored request. */
export function askedOf(body: string): Asked {
  // User ids have more digits than a number keeps, so they are read as text.
  const read = JSON.parse(
    body.replace(/"user_id":\[([\d,]*)\]/, (_, ids: string) => `"user_id":[${quoted(ids)}]`),
  )
  const { audience, setting, message } = read
  const kind = audienceKinds.find((known) => audience !== 'all' && Object.hasOwn(audience, known))
  return {
    audience: kind === undefined ? { kind: 'all' } : { kind, values: audience[kind].map(String) },
    strategy: setting.distribution_strategy,
    sequence: setting.ospush_sequence ?? [],
    ttl: setting.ttl,
    messageClass: setting.message_class,
    showEnd: message.show_end_time,
    message: {
      type: message.type,
      title: message.title,
      body: message.body,
      bigText: message.big_text,
      attachment: message.attachment_url,
      url: message.url,
    },
  }
}

const quoted = (ids: string) =>
  ids
    .split(',')
    .filter((id) => id !== '')
    .map((id) => `"${id}"`)
    .join(',')

/** Indents JSON without reading its numbers, which may have more digits than a number keeps. Lists stay on one line. */
export function indentJson(text: string): string {
  let depth = 0
  let lists = 0
  let out = ''
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    if (character === '"') {
      let end = at + 1
      while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1
      out += text.slice(at, end + 1)
      at = end
    } else if (/\s/.test(character)) continue
    else if (character === '{' && text.slice(at + 1).trimStart()[0] === '}') {
      out += '{}'
      at = text.indexOf('}', at)
    } else if (character === '{' && lists === 0) out += `{\n${'  '.repeat(++depth)}`
    else if (character === '}' && lists === 0) out += `\n${'  '.repeat(--depth)}}`
    else if (character === ',') out += lists === 0 ? `,\n${'  '.repeat(depth)}` : ', '
    else if (character === ':') out += ': '
    else {
      if (character === '[') lists++
      if (character === ']') lists--
      out += character
    }
  }
  return out
}
