import { androidFields, cards, type Text } from '@herald/channels/cards'
import { en } from '../src/i18n/en.ts'
import { zh } from '../src/i18n/zh.ts'

type Tree = { [key: string]: string | Tree }

export function leaves(tree: Tree, path = ''): [key: string, text: string][] {
  return Object.entries(tree).flatMap(([key, value]) =>
    typeof value === 'string' ? [[path + key, value] as [string, string]] : leaves(value, `${path}${key}.`),
  )
}

const isText = (value: object): value is Text => 'en' in value && 'zh' in value

/** Titles and labels of the vendors' cards, which pages show as well. */
function cardTexts(part: object, path: string): [key: string, text: Text][] {
  if (isText(part)) return [[path, part]]
  return Object.entries(part).flatMap(([key, value]: [string, unknown]) =>
    typeof value === 'object' && value !== null ? cardTexts(value, `${path}.${key}`) : [],
  )
}

const ofCards = [
  ...cardTexts(androidFields, 'android'),
  ...cards.flatMap((card) => cardTexts(card, `card.${card.name}`)),
]
export const english = [...leaves(en), ...ofCards.map(([key, { en }]): [string, string] => [key, en])]
export const chinese = new Map([
  ...leaves(zh),
  ...ofCards.map(([key, { zh }]): [string, string] => [key, zh]),
])

/** Patterns of the English texts that differ from the Chinese ones; `{{…}}` matches anything. */
export const untranslated: RegExp[] = english
  .filter(([key, text]) => chinese.get(key) !== text && /[a-z]{2}/i.test(text.replaceAll(/{{\w+}}/g, '')))
  .map(([, text]) => {
    const parts = text.split(/{{\w+}}/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    return new RegExp(`^${parts.join('.+')}$`)
  })
