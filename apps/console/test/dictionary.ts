import { en } from '../src/words/en.ts'
import { zh } from '../src/words/zh.ts'

type Tree = { [key: string]: string | Tree }

export function leaves(tree: Tree, path = ''): [key: string, text: string][] {
  return Object.entries(tree).flatMap(([key, value]) =>
    typeof value === 'string' ? [[path + key, value] as [string, string]] : leaves(value, `${path}${key}.`),
  )
}

export const english = leaves(en)
export const chinese = new Map(leaves(zh))

/** What would show on a page if a text were left in English: all that differ, `{{…}}` standing for anything. */
export const untranslated: RegExp[] = english
  .filter(([key, text]) => chinese.get(key) !== text && /[a-z]{2}/i.test(text.replaceAll(/{{\w+}}/g, '')))
  .map(([, text]) => {
    const parts = text.split(/{{\w+}}/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    return new RegExp(`^${parts.join('.+')}$`)
  })
